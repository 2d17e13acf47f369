// A menu closes when the focus goes elsewhere, as it does at a click elsewhere.

document.addEventListener("focusin", (event) => {
  const target = /** @type {HTMLButtonElement} */ (event.target);
  for (const menu of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(":popover-open"))) {
    if (!menu.contains(target) && target.popoverTargetElement !== menu) {
      menu.hidePopover();
    }
  }
});
