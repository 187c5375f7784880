// The desk: sending, moving on, and saying what went wrong without touching what was typed.
(() => {
  "use strict";
  let busy = false;
  let resent = false; // once after signing in, and not again and again

  const desk = () => document.getElementById("desk");
  const tell = (html) => {
    const place = document.getElementById("notices");
    if (!place) return;
    place.innerHTML = html;
    place.scrollIntoView({ block: "nearest" });
  };
  const tellText = (text) => {
    const line = document.createElement("p");
    line.className = "message error";
    line.textContent = text;
    tell(line.outerHTML);
  };
  window.tertium = Object.assign(window.tertium || {}, { isBusy: () => busy, tell });

  const setBusy = (value, form = null) => {
    busy = value;
    desk()?.classList.toggle("busy", value);
    desk()?.setAttribute("aria-busy", String(value));
    if (!form) return;
    if (value) form.dataset.sending = "yes";
    else delete form.dataset.sending;
  };

  const ready = () => {
    window.tertium.activateFirstOpen();
    for (const details of document.querySelectorAll("[data-remembered]")) {
      const kept = localStorage.getItem(`tertium-${details.dataset.remembered}`);
      if (kept !== null) details.open = kept === "open";
      else if (window.matchMedia("(max-width: 62rem)").matches) details.open = false;
      details.addEventListener("toggle", () => {
        localStorage.setItem(`tertium-${details.dataset.remembered}`, details.open ? "open" : "closed");
      });
    }
  };

  document.addEventListener("htmx:beforeRequest", (event) => {
    if (busy) return event.preventDefault();
    window.tertium.forgetDraft();
    setBusy(true, event.target);
    return undefined;
  });
  document.addEventListener("htmx:afterRequest", (event) => setBusy(false, event.target));
  document.addEventListener("htmx:afterSettle", () => {
    resent = false;
    window.scrollTo(0, 0);
    document.getElementById("desk-heading")?.focus({ preventScroll: true });
    ready();
  });

  document.addEventListener("htmx:responseError", (event) => {
    const { xhr } = event.detail;
    const form = event.target;
    if ((xhr.status === 401 || xhr.status === 403) && !resent) {
      window.tertium.signInAgain(() => {
        resent = true;
        form.requestSubmit();
      });
    } else if (xhr.status === 409 || xhr.status === 422) {
      form.closest("dialog")?.close();
      tell(xhr.responseText);
    } else tellText("The server did not take it. What you wrote is still here: try again in a moment.");
  });
  for (const lost of ["htmx:sendError", "htmx:timeout"]) {
    document.addEventListener(lost, () => {
      tellText("No answer from the server. What you wrote is still here: save it again. It is stored once, however often you do.");
    });
  }

  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-opens]");
    if (opener) document.getElementById(opener.dataset.opens).showModal();
    if (event.target.closest("[data-closes]")) event.target.closest("dialog").close();
    const answer = event.target.closest("[data-takes-over]");
    if (!answer) return;
    for (const pair of answer.dataset.takesOver.split(" ")) {
      const [position, value] = pair.split("=");
      document.querySelector(`#answer [name="${position}"][value="${value}"]`)?.click();
    }
  });

  if (desk()) ready();
})();
