// Puts live forms in the place of the form blocks in a wiki's page. Include it
// once in every page, from the server that has the forms:
//
//   <script src="https://forms.example.org/embed.js" async></script>
//
// A block stays as it is until its form is there. So readers without JavaScript
// see the block, and so does everybody when the server can't be reached or has no
// such form. Whoever is not signed in sees the sign-in instead.
(() => {
  "use strict";
  const script = /** @type {HTMLScriptElement} */ (document.currentScript);
  if (!script?.src) {
    console.warn("Formulary: embed.js needs a script element with src, and without type=module.");
    return;
  }
  const server = new URL(".", script.src); // the forms are beside this script
  const title = "Form “{0}”"; // of a frame; the server puts that of the reader's language in its place
  const shownAsCode = "The text of a form stands here as code, so nobody can fill it in. Paste it as a form"; // so is this
  const pause = 100; // milliseconds between a change of the page and the search for blocks
  const checkEvery = 1000; // milliseconds, after which it is decided again whether a frame can be seen
  const leastOpacity = 0.8;

  // Markdown renderers write the info string "yaml form" as classes. The last two
  // are MediaWiki's syntaxhighlight and Confluence's code macro.
  const blocks = "pre.form, code.form, code.language-form, [data-formulary-form], .mw-highlight.form, .code.panel > .codeContent";
  const pasted = /^\s*(?:<pre class="?form"?>|form:[^]*?\n *fields:)/;
  const seen = new WeakSet(); // blocks
  const waiting = new WeakMap(); // by iframe: the block that it replaces when its form is there
  const replaced = new WeakMap(); // by iframe: the block that it has replaced
  const warned = new WeakSet(); // iframes that are transparent

  window.addEventListener("message", onMessage);
  if (document.readyState === "loading") {
    document.addEventListener("DOMContentLoaded", start);
  } else {
    start();
  }

  function start() {
    embedAll();
    let timer = 0; // wikis render parts of their pages late
    new MutationObserver(() => {
      timer ||= setTimeout(() => {
        timer = 0;
        embedAll();
      }, pause);
    }).observe(document.body, { childList: true, subtree: true });
    setInterval(() => frames().forEach(showFrame), checkEvery);
  }

  function embedAll() {
    for (const found of document.querySelectorAll(blocks)) {
      if (!seen.has(found)) {
        seen.add(found);
        embed(found);
      }
    }
    if (mayEdit()) {
      document.querySelectorAll("pre, p").forEach(tellOfCode);
    }
  }

  /** Whether the reader may edit the page, as MediaWiki or Confluence tells it. */
  function mayEdit() {
    return mediaWiki("wgIsProbablyEditable") || document.getElementById("editPageLink");
  }

  /** Tells editors of a form that was pasted where the wiki takes it for code. Visual editors do so. */
  function tellOfCode(found) {
    if (seen.has(found) || found.closest(`[contenteditable], ${blocks}`) || !pasted.test(found.textContent)) {
      return;
    }
    seen.add(found);
    const note = document.createElement("p");
    const link = Object.assign(document.createElement("a"), { href: `${server.href}author#copy`, textContent: shownAsCode });
    note.className = "formulary-code";
    note.append(link);
    found.before(note);
  }

  function embed(found) {
    if (found.closest("[contenteditable]") || /^(edit|submit)$/.test(globalThis.mw?.config?.get("wgAction"))) {
      return; // it is being edited, or a preview of what is not stored yet
    }
    const macro = found.matches(".codeContent");
    if (macro && !/^\s*form:/.test(found.innerText)) {
      return; // other code
    }
    const block = found.closest(macro ? ".code.panel" : "pre, .mw-highlight") ?? found;
    if (block !== found && seen.has(block)) {
      return; // it matches twice
    }
    seen.add(block);
    const form = found.dataset.formularyForm ?? formOf(macro ? found.innerText : found.textContent);
    const page = found.dataset.formularyPage ?? block.dataset.formularyPage ?? script.dataset.formularyPage ?? wikiPage();
    if (!/^(?!\.\.?$)[\p{L}\p{M}\p{Nd}_.-]+$/u.test(form ?? "")) {
      console.warn("Formulary: a block has no id of a form, such as “form: feedback”.", block);
    } else if (!/^[1-9]\d*$/.test(page ?? "")) {
      console.warn("Formulary: the id of this wiki page is not known. Set data-formulary-page on the block or on the script element.", block);
    } else {
      const frame = newFrame(page, form, block.parentElement);
      waiting.set(frame, block);
      block.before(frame);
    }
  }

  /** The first key "form" that is not indented. */
  function formOf(text) {
    const [, double, single, plain] = /^form:[^\S\n]+(?:"([^"\n]*)"|'([^'\n]*)'|([^\s#"']\S*))[^\S\n]*(?:#.*)?$/m.exec(text) ?? [];
    return double ?? single ?? plain;
  }

  /** The page id as MediaWiki or Confluence tells it. */
  function wikiPage() {
    const id = mediaWiki("wgArticleId");
    return id ? String(id) : document.querySelector('meta[name="ajs-page-id"]')?.getAttribute("content");
  }

  function mediaWiki(key) {
    return globalThis.mw?.config?.get(key) ?? globalThis.RLCONF?.[key];
  }

  function newFrame(page, form, around) {
    const scheme = isDark(around) ? "dark" : "light";
    const { fontSize, fontFamily } = getComputedStyle(around);
    const frame = document.createElement("iframe");
    frame.src = `${server.href}embed/page/${page}/form/${encodeURIComponent(form)}`;
    frame.name = `formulary ${scheme} ${location.origin} ${fontSize} ${fontFamily}`;
    frame.title = title.replace("{0}", form);
    frame.loading = "lazy";
    frame.className = "formulary";
    Object.assign(frame.style, {
      display: "block", width: "100%", height: "0", margin: "0", padding: "0", border: "0", visibility: "hidden",
      background: "transparent", colorScheme: scheme, // browsers fill the ground of a frame whose scheme differs from its page's
    });
    return frame;
  }

  /** Whether the ground under an element is dark. */
  function isDark(element) {
    for (let e = element; e; e = e.parentElement) {
      const [red, green, blue, alpha = 1] = getComputedStyle(e).backgroundColor.match(/^rgba?\((.*)\)$/)?.[1].split(/[\s,/]+/).map(Number) ?? [];
      if (alpha > 0.5 && red !== undefined) {
        return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
      }
    }
    const schemes = getComputedStyle(document.documentElement).colorScheme;
    return schemes.includes("dark") && (!schemes.includes("light") || matchMedia("(prefers-color-scheme: dark)").matches);
  }

  function onMessage({ origin, source, data }) {
    const { height, loaded, missing } = data?.formulary ?? {};
    if (origin !== server.origin || !(missing || height > 0)) {
      return;
    }
    for (const frame of frames()) {
      if (frame.contentWindow !== source) {
        continue;
      }
      if (missing) {
        frame.replaceWith(waiting.get(frame) ?? replaced.get(frame));
      } else {
        resize(frame, height, loaded);
      }
    }
  }

  /** @returns {NodeListOf<HTMLIFrameElement>} */
  const frames = () => document.querySelectorAll("iframe.formulary");

  /**
   * Shows a frame that has its form, and hides it while the page has made it transparent:
   * nobody is to press a button that they don't see. A page may fade in, so this is
   * decided again and again.
   */
  function showFrame(frame) {
    const transparent = isTransparent(frame);
    frame.style.visibility = waiting.has(frame) || transparent ? "hidden" : "";
    if (transparent && !warned.has(frame)) {
      warned.add(frame);
      console.warn("Formulary: a form is hidden, because a style makes an element around it transparent.", frame);
    }
  }

  function isTransparent(element) {
    let seen = 1; // how much of the element comes through
    for (let e = element; e; e = e.parentElement) {
      const { opacity, filter, maskImage } = getComputedStyle(e);
      seen *= filter.includes("opacity") || (maskImage ?? "none") !== "none" ? 0 : Number(opacity);
    }
    return seen < leastOpacity;
  }

  function resize(frame, height, loaded) {
    frame.style.height = `${height}px`;
    const block = waiting.get(frame);
    if (block) {
      waiting.delete(frame);
      replaced.set(frame, block);
      frame.style.margin = "1em 0";
      block.remove();
      showFrame(frame);
    } else if (loaded && frame.getBoundingClientRect().top < 0) {
      frame.scrollIntoView(); // a new page, such as “Sent”, is read from its beginning
    }
  }
})();
