// The results: puts the summary in its place once the server has made it, and
// moves the focus to what is wrong with a filter.

const attempts = 30;

async function load(pending) {
  const address = new URL(location.href);
  address.searchParams.set("part", "summary");
  for (let i = 0; i < attempts; i++) {
    const answer = await fetch(address, { redirect: "error" });
    if (answer.status === 200) {
      pending.innerHTML = await answer.text(); // made by the server's templates
      pending.classList.remove("pending");
      return;
    }
    if (answer.status !== 204) {
      return; // the link "Reload" stays
    }
  }
}

document.querySelector("[data-error-summary]")?.focus();
const pending = document.querySelector("[data-summary-pending]");
if (pending) {
  load(pending).catch(() => {}); // the link "Reload" stays
}
