// What every request of a page shares: the token that proves it is ours, and what to do when the session has ended.
(() => {
  "use strict";

  const cookie = (name) => {
    const found = document.cookie.split("; ").find((pair) => pair.startsWith(`${name}=`));
    return found ? found.slice(name.length + 1) : "";
  };

  // Read anew each time: signing in again changes the token, and the one written into the page is then refused.
  const token = () => cookie("tertium_csrf");

  document.addEventListener("htmx:configRequest", (event) => {
    if (event.detail.verb === "get" || !token()) return;
    event.detail.headers["X-CSRFToken"] = token();
    event.detail.parameters.delete?.("csrfmiddlewaretoken");
  });

  let again = null; // what is sent once more after signing in

  const dialog = () => document.getElementById("sign-in-again");
  const place = () => dialog().querySelector("[data-sign-in-form]");

  const ask = async (options) => {
    const answer = await fetch(place().dataset.url, { headers: { "HX-Request": "true" }, ...options });
    if (answer.status === 204) {
      dialog().close();
      const resend = again;
      again = null;
      resend?.();
      return;
    }
    place().innerHTML = await answer.text();
    if (!dialog().open) dialog().showModal();
    place().querySelector("input:not([type=hidden])")?.focus();
  };

  // Opens the dialog, or sends at once where only the token was lost.
  const signInAgain = (resend) => {
    again = resend;
    ask({}).catch(() => {});
  };

  document.addEventListener("submit", (event) => {
    if (!dialog()?.contains(event.target)) return;
    event.preventDefault();
    const body = new FormData(event.target);
    ask({ method: "POST", body, headers: { "HX-Request": "true", "X-CSRFToken": token() } }).catch(() => {});
  });

  window.tertium = Object.assign(window.tertium || {}, { csrfToken: token, signInAgain });
})();
