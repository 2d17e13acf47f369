// Menus, links to copy, and the select of languages.

import { t } from "./text.js";

// A menu closes when the focus goes elsewhere, as at a click elsewhere.
document.addEventListener("focusin", (event) => {
  const target = /** @type {HTMLButtonElement} */ (event.target);
  for (const menu of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(":popover-open"))) {
    if (!menu.contains(target) && target.popoverTargetElement !== menu) {
      menu.hidePopover();
    }
  }
});

document.addEventListener("click", async (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  const address = /** @type {HTMLElement} */ (target.nextElementSibling);
  if (!target.matches("[data-link]")) {
    return;
  }
  try {
    await navigator.clipboard.writeText(address.innerText);
  } catch {
    address.classList.add("open"); // without TLS, only what is selected can be copied
    getSelection()?.selectAllChildren(address);
    document.execCommand("copy");
  }
  target.textContent = t("Copied");
  const { announce } = await import("./dom.js");
  announce(t("Copied"));
});

const select = () => /** @type {HTMLSelectElement} */ (document.getElementById("language"));

// A page with answers stays, and gets other words. Nothing that was typed is lost.
document.addEventListener("change", async ({ target }) => {
  if (target !== select()) {
    return;
  }
  const filled = document.querySelector("form[data-form][id], form.set");
  const done = filled && (await import("./translate.js").then(({ translate }) => translate(select().value)).catch(() => false));
  if (!done) {
    /** @type {HTMLElement} */ (select().nextElementSibling).click();
  }
});

addEventListener("pageshow", () => (select().value = document.documentElement.lang)); // after the back button
