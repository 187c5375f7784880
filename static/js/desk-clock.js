// Counts the seconds in which the case is in front of somebody: page visible, window in front, and some sign of life.
(() => {
  "use strict";
  const IDLE_AFTER = 120; // seconds without a key, a pointer or a scroll
  let lastSign = Date.now();
  for (const sign of ["keydown", "pointermove", "pointerdown", "scroll", "touchstart"]) {
    document.addEventListener(sign, () => { lastSign = Date.now(); }, { passive: true, capture: true });
  }
  const active = () =>
    document.visibilityState === "visible" && document.hasFocus() && Date.now() - lastSign < IDLE_AFTER * 1000;
  setInterval(() => {
    const field = document.querySelector("#answer [name=seconds]");
    if (field && active()) field.value = String(Number(field.value) + 1);
  }, 1000);
  window.tertium = Object.assign(window.tertium || {}, { isActive: active });
})();
