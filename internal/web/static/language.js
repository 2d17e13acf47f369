// Changes the language when one is chosen. Without this script, the button beside the select does. A page with answers
// stays, and gets other words: what was typed, and files that were chosen, are not lost.

const select = () => /** @type {HTMLSelectElement} */ (document.getElementById("language"));

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
