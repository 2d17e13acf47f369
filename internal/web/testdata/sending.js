// Pages whose forms are sent, for the test of form.js. Each story begins with a
// new page and returns what was seen, in a line for each step.

import { button, element, input, press, question, show, wait } from "page.js";

const address = "/page/1/form/cv";

function makePage(summary) {
  const file = input("doc", "file");
  const save = button({ name: "_save", value: "1" });
  const form = element("form", { "data-form": "", action: address }, question("doc", file), input("action", "text"), input("closest", "text"), save);
  form.action = "hidden by the control";
  return { file, save, form, content: summary ? [summary, form] : [form] };
}

function open(summary) {
  const page = makePage(summary);
  status ??= document.querySelector("[role]");
  show(...page.content);
  document.body.append(status);
  status.textContent = "";
  return page;
}

/** The page that the server answers with. */
function answerPage(...content) {
  const page = element("html", {}, element("main", {}, ...content));
  page.title = "Error: CV";
  return page;
}

/** What is left of a form after the server has answered with an error page. */
function errorPage(code, detail) {
  const { form, save, file } = open();
  choose(file);
  press(form, save);
  const paragraph = element("p");
  paragraph.textContent = detail;
  request.status = code;
  request.response = answerPage(element("h1"), paragraph, element("p"));
  request.onload();
  const kept = document.querySelector("form") === form && form.querySelector('input[type="file"]') === file;
  return [kept, form.querySelector('[role="alert"]').textContent, buttons(form), file.files.length, document.activeElement === save, press(form, save)];
}

let status;
show();
const choose = (file) => (file.files = [{ name: "cv.pdf" }]);
const buttons = (form) => (form.children.find(({ name }) => name === "_save").disabled ? "disabled" : "enabled");
const progress = (percent) => request.upload.onprogress({ lengthComputable: true, loaded: percent, total: 100 });

const stories = {
  twoClicks() {
    const { form, save } = open();
    const seen = [press(form, save), buttons(form), press(form, save)];
    wait();
    return [...seen, buttons(form)];
  },
  back() {
    const { form, save } = open();
    press(form, save);
    wait();
    window.fire("pageshow");
    return [buttons(form), press(form, save)];
  },
  backAtOnce() {
    const { form, save } = open();
    press(form, save);
    window.fire("pageshow"); // before the timers
    wait();
    return [buttons(form), press(form, save)];
  },
  stopped() {
    const { form, save } = open();
    press(form, save);
    wait();
    wait(30_000);
    return [buttons(form), press(form, save)];
  },
  otherForm() {
    open();
    const signOut = element("form", {}, button());
    return [press(signOut, signOut.children[0]), press(signOut, signOut.children[0])];
  },
  uploaded() {
    const { form, save, file } = open();
    choose(file);
    const seen = [press(form, save), request.method, request.address, request.data.added.join(), buttons(form), status.textContent];
    for (const percent of [1, 24, 25, 26, 49, 60, 99, 100]) {
      progress(percent);
      seen.push(`${form.querySelector("progress").value} ${status.textContent}`);
    }
    request.responseURL = "https://forms.example/page/1/form/cv/submission/7";
    request.onload();
    return [...seen, location.assigned, buttons(form)];
  },
  refused() {
    const { form, save, file } = open();
    choose(file);
    press(form, save);
    const next = makePage(element("div", { "data-error-summary": "" }));
    next.file.setAttribute("aria-invalid", "true");
    file.setAttribute("autofocus", "");
    const otherForm = element("form", { "data-form": "", action: "/page/1/form/other" }, question("doc", input("doc", "file")));
    request.response = answerPage(otherForm, ...next.content);
    request.onload();
    const kept = next.form.querySelector('input[type="file"]');
    const attributes = kept.attributes.map(({ name }) => name).join();
    const focused = document.activeElement.hasAttribute("data-error-summary");
    return [document.title, kept === file, attributes, focused, buttons(next.form), press(next.form, next.save), request.data.form === next.form];
  },
  signedOut() {
    const { form, save, file } = open();
    choose(file);
    press(form, save);
    request.response = answerPage(element("form", { action: "/login", "data-form": "" }, input("user", "text")));
    request.onload();
    return [document.querySelectorAll("form").length, document.activeElement.tag, document.scrolledTo.tag, document.querySelector("form").getAttribute("action")];
  },
  cancelled() {
    const { form, save, file } = open();
    choose(file);
    press(form, save);
    document.querySelector('button[type="button"]').fire("click");
    return [document.querySelectorAll("progress").length, buttons(form), document.activeElement === save, status.textContent];
  },
  noAnswer() {
    const { form, save, file } = open();
    choose(file);
    press(form, save);
    request.onerror();
    const alert = document.querySelectorAll('[role="alert"]');
    const seen = [alert.length, alert[0].textContent, buttons(form), file.files.length];
    press(form, save);
    return [...seen, document.querySelectorAll('[role="alert"]').length];
  },
  tooLarge: () => errorPage(413, "A file is larger than 1000 bytes."),
  unavailable: () => errorPage(503, "This can't be done right now. Try again in a moment."),
  notAPage() {
    const { form, save, file } = open();
    choose(file);
    press(form, save);
    request.status = 413;
    request.response = null;
    request.onload();
    return [document.querySelector('[role="alert"]').textContent.slice(0, 41), buttons(form)];
  },
  sizeKnown() {
    const { form, save, file } = open();
    file.setAttribute("data-max-size", "1000");
    file.setAttribute("data-limit", "1 kB");
    file.files = [{ name: "a.pdf", size: 1001 }, { name: "b.pdf", size: 1000 }];
    document.fire("change", { target: file });
    const alerts = () => form.querySelectorAll("[data-size-error]").map(({ textContent }) => textContent).join();
    const seen = [alerts(), press(form, save), alerts(), buttons(form), document.activeElement === file];
    file.files = [{ name: "b.pdf", size: 1000 }];
    document.fire("change", { target: file });
    return [...seen, alerts(), press(form, save), buttons(form)];
  },
  hiddenFile() {
    const { form, save, file } = open();
    choose(file);
    file.disabled = true;
    return [press(form, save)];
  },
  summary() {
    const link = element("a", { href: "#group" });
    const { form } = open(element("div", { "data-error-summary": "" }, link));
    const radios = [input("colour", "radio", "red"), input("colour", "radio", "blue")];
    const group = element("fieldset", { id: "group", "data-field": "colour" }, ...radios);
    document.querySelector("main").append(group, element("a", { href: "#group" }));
    const click = (target) => {
      let followed = true;
      document.fire("click", { target, preventDefault: () => (followed = false) });
      return [followed, radios.indexOf(document.activeElement), document.scrolledTo === group].join();
    };
    const seen = [click(link)];
    link.setAttribute("href", "#colour-blue");
    seen.push(click(link));
    link.setAttribute("href", "#gone");
    return [...seen, click(link), click(document.querySelector("main").children.at(-1)), click(form)];
  },
};

globalThis.tell = (story) => stories[story]().join("\n");
