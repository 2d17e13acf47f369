// Browsers keep pages in memory for the back button, some of them whatever
// Cache-Control says. After a sign-out, in whatever tab, such a page is loaded
// again: the server asks to sign in.

const key = "formulary.signedOut";
const before = localStorage.getItem(key);

document.querySelector("form[data-sign-out]")?.addEventListener("submit", () => localStorage.setItem(key, String(Date.now())));

window.addEventListener("pageshow", ({ persisted }) => {
  if (persisted && localStorage.getItem(key) !== before) {
    location.reload();
  }
});
