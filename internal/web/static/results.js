// The results page: the controls of a filter follow the field that is chosen, and
// the column that the table is sorted by is in view. Without this script, "Apply"
// shows the controls, too.

const field = /** @type {HTMLSelectElement | null} */ (document.getElementById("filter-field"));

field?.addEventListener("change", async () => {
  const chosen = field.value;
  const address = new URL(location.pathname, location.href);
  address.search = String(new URLSearchParams({ _field: chosen, _part: "filter" }));
  const rule = chosen ? await readRule(address) : document.createElement("div");
  if (rule && field.value === chosen) {
    rule.id = "filter-rule";
    document.getElementById("filter-rule")?.replaceWith(rule);
  }
});

async function readRule(address) {
  const text = await fetch(address).then((response) => response.text()).catch(() => "");
  const page = new DOMParser().parseFromString(text, "text/html");
  const rule = page.getElementById("filter-rule"); // none if the session has ended
  rule?.querySelector("[autofocus]")?.removeAttribute("autofocus");
  return rule;
}

const sorted = document.querySelector(".results th[aria-sort]");
const box = sorted?.closest(".scroll");
const asked = new URLSearchParams(location.search).has("sort"); // else it is the order of the list, by number
if (asked && box && sorted?.previousElementSibling) {
  const [column, shown] = [sorted, box].map((element) => element.getBoundingClientRect());
  box.scrollLeft += column.left + column.width / 2 - shown.left - shown.width / 2;
}

// The tick in the header is that of all rows.
const all = /** @type {HTMLInputElement | null} */ (document.getElementById("tick-all"));
all?.closest("table")?.addEventListener("change", ({ target }) => {
  const ticks = /** @type {HTMLInputElement[]} */ ([...document.getElementsByName("id")]);
  if (target === all) for (const tick of ticks) tick.checked = all.checked;
  all.checked = ticks.every((tick) => tick.checked);
});
