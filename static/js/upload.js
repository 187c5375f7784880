// Says before sending what the server would say after it, and that sending has begun.
(() => {
  "use strict";

  const number = (value) => value.toLocaleString("en-US");

  document.addEventListener("submit", (event) => {
    const form = event.target.closest("[data-upload]");
    if (!form) return;
    const files = [...form.querySelectorAll("input[type=file]")].flatMap((input) => [...input.files]);
    const size = files.reduce((sum, file) => sum + file.size, 0);
    const limit = Number(form.dataset.limit);
    const fault = form.querySelector("[data-upload-fault]");
    fault.hidden = size <= limit;
    if (size > limit) {
      event.preventDefault();
      fault.textContent = `the upload is too large (found '${number(size)} bytes'); allowed: at most ${number(limit)} bytes`;
      return;
    }
    form.querySelector("button").disabled = true;
    form.querySelector("[data-upload-status]").textContent = `Sending ${number(size)} bytes …`;
  });

  // Back from the next page, the form is as it was and can be sent again.
  window.addEventListener("pageshow", () => {
    document.querySelectorAll("[data-upload] button").forEach((button) => { button.disabled = false; });
    document.querySelectorAll("[data-upload-status]").forEach((status) => { status.textContent = ""; });
  });
})();
