// Keeps the draft on the server at every change, and the case with it while somebody works on it.
(() => {
  "use strict";
  const AFTER = 400; // milliseconds after the last change
  const AGAIN = 4000; // after a save that did not get through
  const HEARTBEAT = 4 * 60 * 1000; // well within the time for which a case is held

  let timer = 0;
  let running = false;
  let dirty = false;

  const form = () => document.getElementById("answer");
  const say = (text) => {
    const place = document.getElementById("draft-state");
    if (place) place.textContent = text;
  };

  const later = (delay) => {
    clearTimeout(timer);
    timer = setTimeout(save, delay);
  };

  const save = async (keepalive = false) => {
    const which = form();
    if (!which || which.dataset.sending) return;
    if (running && keepalive !== true) return later(AFTER); // one after the other, so that the last one stays
    running = true;
    dirty = false;
    try {
      const answer = await fetch(which.dataset.draftUrl, {
        method: "POST",
        body: new FormData(which),
        headers: { "HX-Request": "true", "X-CSRFToken": window.tertium.csrfToken() },
        keepalive: keepalive === true,
        redirect: "error",
      });
      if (form() !== which) return; // the next case is here
      if (answer.status === 204) say("Draft saved");
      else if (answer.status === 409 || answer.status === 422) {
        say("");
        window.tertium.tell(await answer.text());
      } else if (answer.status === 401 || answer.status === 403) say("Signed out. Saving will ask you to sign in.");
      else throw new Error(String(answer.status));
    } catch {
      if (form() !== which) return;
      dirty = true;
      say("Draft not saved yet: no connection");
      later(AGAIN);
    } finally {
      running = false;
    }
  };

  const changed = (event) => {
    if (!form()?.contains(event.target)) return;
    dirty = true;
    say("");
    later(AFTER);
  };
  document.addEventListener("input", changed);
  document.addEventListener("change", changed);
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden" && dirty) save(true);
  });
  window.addEventListener("pagehide", () => { if (dirty) save(true); });
  setInterval(() => { if (window.tertium.isActive()) save(); }, HEARTBEAT);

  window.tertium = Object.assign(window.tertium || {}, {
    forgetDraft: () => { clearTimeout(timer); dirty = false; },
  });
})();
