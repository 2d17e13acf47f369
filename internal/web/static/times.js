// Times are shown in the reader's zone. Without this script they are in UTC.

const { lang } = document.documentElement;
const format = lang !== "en" && new Intl.DateTimeFormat(`${lang}-u-ca-gregory-nu-latn`, {
  day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23", // as the server writes it
});

function digits(at) {
  if (format) {
    return format.format(at);
  }
  const local = new Date(at.getTime() - at.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 16).replace("T", " ");
}

for (const time of document.querySelectorAll("time[datetime*=T]")) { // days stay as they are
  const text = time.textContent;
  const at = new Date(time.dateTime);
  time.title = text.endsWith("UTC") ? text : `${text} UTC`;
  time.textContent = digits(at);
}
for (const note of document.querySelectorAll("[data-utc]")) {
  note.remove();
}
