// Sends a form on its page. Timers and requests wait until the story goes on. Returns a
// line for each part of it: its name, and what was seen.
(() => {
  const next = document.documentElement.cloneNode(true); // what the server answers with
  let later = [];
  window.setTimeout = (act, delay = 0) => later.push({ act, delay });
  const wait = (time) => {
    const due = later.filter(({ delay }) => delay <= time);
    later = later.filter(({ delay }) => delay > time);
    due.forEach(({ act }) => act());
  };
  const responseURL = new URL(document.querySelector("form[data-form]").getAttribute("action"), document.baseURI).href;
  let request, data;
  XMLHttpRequest.prototype.send = function (body) {
    request = this;
    data = body;
  };
  const sent = []; // by the browser itself, and not by a script
  addEventListener("submit", (event) => {
    sent.push(!event.defaultPrevented);
    event.preventDefault();
  });

  const find = (selector) => document.querySelector(selector);
  const send = () => find("[data-send]");
  const state = () => (send().disabled ? "disabled" : "enabled");
  const press = (button) => {
    const before = sent.length;
    button.click();
    return sent.length > before ? sent.at(-1) : "nothing";
  };
  const show = () => dispatchEvent(new Event("pageshow"));
  const lines = [];
  const tell = (name, ...seen) => lines.push([name, ...seen].join(" | "));

  tell("twice", press(send()), state(), press(send()), (wait(0), state()), press(send()));
  show();
  tell("back", state(), press(send()));
  show();
  wait(0);
  tell("back at once", state(), press(send()));
  wait(0);
  tell("stopped", state(), (wait(30_000), state()), press(send()));
  show();
  const other = find("[data-sign-out] button");
  tell("another form", press(other), press(other));

  const input = find('input[type="file"]');
  const files = new DataTransfer();
  files.items.add(new File(["x"], "cv.txt"));
  input.files = files.files;
  input.dispatchEvent(new Event("change", { bubbles: true }));
  const told = () => find("[role=status][aria-live=polite]").textContent;
  const progress = (loaded) => {
    request.upload.onprogress({ lengthComputable: true, loaded, total: 100 });
    return `${find("progress").value} ${told()}`;
  };
  send().name = "_save";
  send().value = "1";
  tell("upload", press(send()), state(), data.get("_save"), told(), ...[1, 24, 25, 26, 49, 60, 99, 100].map(progress));

  const alerts = () => Array.from(document.querySelectorAll("[data-upload-error]"), (e) => e.textContent).join();
  const left = () => [alerts(), state(), input.files.length, input.isConnected, document.activeElement === send()];
  const answer = (status, page) => {
    const response = page && new DOMParser().parseFromString(page, "text/html");
    for (const [name, value] of Object.entries({ status, response, responseURL })) {
      Object.defineProperty(request, name, { value, configurable: true });
    }
    request.onload();
  };
  request.onerror();
  tell("no answer", ...left());
  tell("again", press(send()), alerts());
  answer(413, "<main><h1>Too large</h1><p>A file is too large.</p><p>Go back</main>");
  tell("too large", ...left(), press(send()));
  answer(503, "<main><h1>Not now</h1><p>Try again in a moment.</p></main>");
  tell("unavailable", ...left(), press(send()));
  answer(413, null);
  tell("not a page", ...left(), press(send()));

  const form = next.querySelector("form[data-form]");
  const another = form.cloneNode(true);
  another.setAttribute("action", "/another");
  form.before(another);
  form.querySelector('input[type="file"]').setAttribute("aria-invalid", "true");
  input.setAttribute("autofocus", "");
  answer(422, next.outerHTML);
  const attributes = [input.getAttribute("aria-invalid"), input.hasAttribute("autofocus")];
  find('form[action="/another"]').remove();
  tell("refused", input.isConnected, ...attributes, input.files.length, state(), press(send()));
  answer(200, '<main><h1>Sign in</h1><form data-form action="/login"></form></main>');
  tell("signed out", document.querySelectorAll("form[data-form]").length, find("main form").getAttribute("action"), document.activeElement.localName);
  return lines.join("\n");
})()
