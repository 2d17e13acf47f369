// Runs in forms within a wiki's page, before anything is shown. It
// tells the wiki's page how high the form is, and has the form use light or
// dark colours, and the font, of that page. Whoever signs in to one form on a page is signed
// in to the others.
//
// embed.js names the frame "formulary SCHEME ORIGIN FONT-SIZE FONT-FAMILY". The name stays when
// another page is loaded into the frame. A height is sent to that origin only.
(() => {
  "use strict";
  const highest = 100_000; // pixels
  const root = document.documentElement;
  const [mark, scheme, origin, size, ...family] = window.name.split(" ");
  if (window.parent === window || mark !== "formulary" || !origin) {
    return;
  }
  useScheme(scheme === "dark");
  if (size) {
    root.style.fontSize = `clamp(12px, ${size}, 24px)`; // spacing follows it
    root.style.fontFamily = `${family.join(" ")}, var(--font)`;
  }
  let sent = 0;
  document.addEventListener("DOMContentLoaded", () => {
    shareSignIn();
    if (root.hasAttribute("data-missing")) {
      window.parent.postMessage({ formulary: { missing: true } }, origin); // the block stays as it is
      return;
    }
    sendHeight(); // browsers don't draw, and thus don't observe, a frame that has no height yet
    new ResizeObserver(sendHeight).observe(root);
  });

  /** The wiki's page decides, not the preference that the browser reports. */
  function useScheme(dark) {
    root.style.colorScheme = dark ? "dark" : "light";
    for (const sheet of document.styleSheets) {
      for (const { media } of /** @type {Iterable<CSSMediaRule>} */ (sheet.cssRules)) {
        if (media?.mediaText === "(prefers-color-scheme: dark)") {
          media.mediaText = dark ? "all" : "not all";
        }
      }
    }
  }

  /** The channel reaches frames of this server within the same site's pages, which have the same cookie. */
  function shareSignIn() {
    const channel = new BroadcastChannel("formulary signed in");
    /** @type {any} */
    const next = document.querySelector("input[data-next]"); // a sign-in that has nothing typed to lose
    if (next) {
      channel.onmessage = () => location.assign(`${next.form.getAttribute("action")}?next=${encodeURIComponent(next.value)}`);
    } else if (document.querySelector(".below .who")) {
      channel.postMessage(null);
    }
  }

  /** The height of the content does not depend on that of the frame, so this comes to rest. */
  function sendHeight() {
    const needed = Math.ceil(root.getBoundingClientRect().height);
    const height = Math.min(needed, highest);
    if (height === sent) {
      return;
    }
    // A scroll bar would make the form narrower, and thus higher.
    root.style.overflowY = needed > highest ? "auto" : "hidden";
    window.parent.postMessage({ formulary: { height, loaded: sent === 0 } }, origin);
    sent = height;
  }
})();
