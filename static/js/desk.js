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
  window.tertium = Object.assign(window.tertium || {}, { isBusy: () => busy, tell, tellText });

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

  const begin = () => {
    resent = false;
    window.scrollTo(0, 0);
    document.getElementById("desk-heading")?.focus({ preventScroll: true });
    ready();
  };

  // The next case is here already, and is shown as soon as the answer to the one before is stored.
  const loaded = () => document.querySelector("#ahead > template");
  const showLoaded = (html) => {
    const answer = new DOMParser().parseFromString(html, "text/html");
    document.getElementById("in-hand").replaceChildren(loaded().content);
    for (const id of ["strip", "ahead"]) document.getElementById(id).replaceWith(answer.getElementById(id));
    for (const id of ["strip", "in-hand"]) window.htmx.process(document.getElementById(id));
    document.getElementById("notices").replaceChildren();
    begin();
  };

  document.addEventListener("htmx:configRequest", (event) => {
    if (event.target.id === "answer" && loaded()) event.detail.parameters.ahead = loaded().dataset.token;
  });
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { xhr } = event.detail;
    if (!xhr.getResponseHeader("X-Desk-Onward")) return;
    event.detail.shouldSwap = false;
    showLoaded(xhr.responseText);
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (busy) return event.preventDefault();
    window.tertium.forgetDraft();
    setBusy(true, event.target);
    return undefined;
  });
  document.addEventListener("htmx:afterRequest", (event) => setBusy(false, event.target));
  document.addEventListener("htmx:afterSettle", begin);

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

  // Where two outputs differ: the server says, and the same characters are then shown with marks.
  const compare = async (button) => {
    const outputs = document.querySelector("#in-hand .outputs");
    if (!outputs.querySelector("[data-compared]")) {
      const answer = await fetch(button.form.action, { headers: { "HX-Request": "true" }, redirect: "error" });
      if (!answer.ok) throw new Error(String(answer.status));
      const compared = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const side of compared.querySelectorAll("[data-compared]")) {
        const text = outputs.querySelector(`[data-part="${side.dataset.compared}.0"]`);
        text.replaceChildren(...side.childNodes);
        text.dataset.compared = side.dataset.compared;
      }
    }
    const shown = outputs.classList.toggle("differences");
    button.setAttribute("aria-pressed", String(shown));
    const count = (side) => outputs.querySelectorAll(`[data-compared=${side}] .differs`).length;
    const rest = outputs.querySelector(".uncompared") ? " The end of so long a text is not compared." : "";
    document.getElementById("differences-told").textContent = shown
      ? `In brackets is what only one side has: left ${count("left")}, right ${count("right")}.${rest}`
      : "";
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-differences]");
    if (!button) return;
    event.preventDefault();
    compare(button).catch(() => tellText("The differences could not be loaded. Try again in a moment."));
  });

  if (desk()) ready();
})();
