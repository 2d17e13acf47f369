// A menu closes when the focus goes elsewhere, as it does at a click elsewhere.

document.addEventListener("focusin", ({ target }) => {
  for (const menu of document.querySelectorAll(":popover-open")) {
    if (!menu.contains(target) && target.popoverTargetElement !== menu) {
      menu.hidePopover();
    }
  }
});
