// Goes on when somebody has signed in to the wiki, in another tab: its cookies come here, too.

const checkEvery = 3000; // milliseconds, after the wiki's sign-in was opened

const link = document.querySelector("[data-elsewhere]");
/** @type {any} */
const next = document.querySelector("input[data-next]");
if (link && next) {
  const again = `${next.form.getAttribute("action")}?next=${encodeURIComponent(next.value)}`; // which leads on, if signed in
  const look = async () => {
    if (document.visibilityState === "visible") {
      const answer = await fetch(again, { redirect: "manual" }).catch(() => null);
      if (answer?.type === "opaqueredirect") {
        location.assign(again);
      }
    }
  };
  document.addEventListener("visibilitychange", look);
  window.addEventListener("focus", look);
  link.addEventListener("click", () => setInterval(look, checkEvery), { once: true });
}
