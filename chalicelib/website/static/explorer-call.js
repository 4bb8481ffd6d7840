// The right side of the page: Execute, the request as a program, and the answer.

import { answerView, readAnswer, summaryOf } from "./explorer-answer.js";
import { copyButton, h, unique } from "./explorer-dom.js";
import { buildRequest, send } from "./explorer-request.js";
import { LANGUAGES } from "./explorer-samples.js";

export class CallPanel {
  // `explorer` has what the page knows: service, party, credentials, facts, memory; it opens operations and learns.
  constructor(place, explorer) {
    this.explorer = explorer;
    this.place = place;
    this.language = "curl";
    this.answers = new Map(); // by operation: what was answered last
    this.last = new Map(); // by operation: the request that was sent last
    this.busy = false;
    this.steps = []; // what the shown answer leads to
    place.append(this.#execution(), this.#samples(), this.#answer());
  }

  #execution() {
    this.execute = h("button", { type: "button", class: "x-run", "aria-keyshortcuts": "Control+Enter" }, "Execute");
    this.execute.addEventListener("click", () => this.run());
    this.repeat = h("button", { type: "button", class: "quiet", hidden: true }, "Repeat with the same key");
    this.repeat.addEventListener("click", () => this.run({ repeated: true }));
    this.alert = h("div", { role: "alert" });
    return h(
      "div",
      { class: "x-execute" },
      h("div", { class: "x-buttons" }, this.execute, this.repeat, h("span", { class: "x-keys" }, h("kbd", {}, "Ctrl"), " ", h("kbd", {}, "Enter"))),
      this.alert,
    );
  }

  #samples() {
    const name = unique("language");
    const radios = Object.keys(LANGUAGES).map((language) => {
      const input = h("input", { type: "radio", name, checked: language === this.language, value: language });
      input.addEventListener("change", () => {
        this.language = language;
        this.showSample();
      });
      return h("label", {}, input, h("span", {}, language));
    });
    this.code = h("code");
    return h(
      "div",
      { class: "code-block x-sample" },
      h("fieldset", { class: "code-tabs" }, h("legend", { class: "hidden" }, "Language of the request"), radios),
      h("div", { class: "code-panel" }, h("pre", { role: "group", "aria-label": "The request as a program" }, this.code), copyButton(this.code, "the request")),
    );
  }

  #answer() {
    this.heading = h("h2", { tabindex: "-1", id: "answer-title" }, "Answer");
    this.status = h("p", { class: "x-summary", role: "status" });
    this.content = h("div", { class: "x-content" });
    this.section = h("section", { class: "x-answer", "aria-labelledby": "answer-title" }, this.heading, this.status, this.content);
    return this.section;
  }

  // Shows what belongs to an operation that has been opened.
  show(view) {
    this.view = view;
    const { id } = view.operation;
    this.execute.hidden = !view.isExecutable;
    this.alert.replaceChildren();
    view.form.addEventListener("input", () => this.#later());
    view.form.addEventListener("change", () => this.#later());
    view.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.run();
    });
    this.#offerRepeat();
    this.#render(this.answers.get(id));
    this.showSample();
  }

  forget() {
    this.answers.clear();
    this.last.clear();
  }

  #later() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.showSample();
    });
  }

  #request(values) {
    return buildRequest(this.view.operation, values, { ...this.explorer, held: this.explorer.credentials.held });
  }

  showSample() {
    const values = this.view.read();
    if (values.problem) return; // the last one that was whole stays
    const { service, party, credentials, facts, memory, specification } = this.explorer;
    this.code.textContent = LANGUAGES[this.language](this.#request(values), {
      service,
      specification,
      party: party.name,
      held: credentials.held,
      consent: facts.consent,
      schema: values.schema,
      refreshToken: memory.latest("refresh_token"),
    });
  }

  #offerRepeat() {
    this.repeat.hidden = !this.last.get(this.view.operation.id)?.headers["Idempotency-Key"];
  }

  // -- Calls

  async run({ repeated = false } = {}) {
    const { view } = this;
    if (this.busy || !view.isExecutable) return;
    const values = view.read();
    const missing = values.problem ?? this.explorer.party.lacking(view.operation, this.explorer.credentials.held, values);
    this.alert.replaceChildren(...(missing ? [h("p", { class: "alert" }, missing)] : []));
    if (missing) return;
    const request = repeated ? this.last.get(view.operation.id) : this.#request(values);
    this.last.set(view.operation.id, request);
    await this.#send(request, { ...request, view });
    if (!repeated) {
      view.renew();
      if (view === this.view) this.showSample();
    }
    this.#offerRepeat();
  }

  // Reads a path with the credentials of the request that led to it.
  async #follow(path) {
    const before = this.last.get(this.view.operation.id);
    const { "X-Api-Key": client, Authorization: proof } = before.headers;
    const headers = Object.fromEntries(Object.entries({ "X-Api-Key": client, Authorization: proof }).filter(([, value]) => value));
    await this.#send({ ...before, method: "GET", url: `${this.explorer.service}${path}`, headers, text: undefined }, { ...before, view: this.view, path });
  }

  async #send(request, origin) {
    this.busy = true;
    this.execute.setAttribute("aria-disabled", "true");
    this.section.setAttribute("aria-busy", "true");
    this.status.replaceChildren("Sending …");
    try {
      const answer = { ...readAnswer(await send(request)), operation: origin.operation };
      if (!answer.failure) this.explorer.learn(answer);
      const shown = { answer, origin };
      this.answers.set(origin.operation.id, shown);
      if (origin.view === this.view) this.#render(shown, true);
    } finally {
      this.busy = false;
      this.execute.removeAttribute("aria-disabled");
      this.section.removeAttribute("aria-busy");
    }
  }

  #render(shown, isNew = false) {
    this.section.hidden = !shown && !this.view.isExecutable;
    this.steps = [];
    if (!shown) {
      this.status.replaceChildren(this.view.isExecutable ? "Execute the call to see its answer here." : "");
      this.content.replaceChildren();
      return;
    }
    const { answer, origin } = shown;
    this.steps = answer.failure ? [] : this.explorer.party.steps(origin, answer, this.explorer);
    this.status.replaceChildren(...summaryOf(answer));
    const words = answer.failure ? "" : this.explorer.party.words(origin, answer, this.explorer.memory);
    this.content.replaceChildren(...answerView(answer, words, this.steps, (step) => this.act(step)));
    if (isNew) this.#bringIntoView();
  }

  // The answer may be below what one sees: below the form, or below the head of the page.
  #bringIntoView() {
    const { top } = this.section.getBoundingClientRect();
    if (top >= 0 && top < innerHeight * 0.6) return;
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const isBeside = getComputedStyle(this.place).position === "sticky";
    const behavior = isStill ? "auto" : "smooth";
    if (!isBeside) this.section.scrollIntoView({ block: "start", behavior });
    else {
      const above = this.section.offsetTop; // what of the column is above the answer
      const scrolled = Math.max(0, above - innerHeight * 0.4);
      this.place.scrollTo({ top: scrolled, behavior });
      const seen = this.place.getBoundingClientRect().top + above - scrolled;
      if (seen > innerHeight * 0.6) this.place.parentElement.scrollIntoView({ block: "start", behavior });
    }
  }

  async act(step) {
    if (this.busy) return;
    if (step.again) await this.run();
    else if (step.fetch) await this.#follow(step.fetch);
    else if (step.use) {
      const [[name, value]] = Object.entries(step.use);
      await this.explorer.credentials.use(name, value);
      this.status.replaceChildren("The credentials at the top of the page have been replaced.");
    } else if (step.open) {
      this.explorer.open(step.open, step.values);
      await this.run();
    }
    this.heading.focus({ preventScroll: true });
  }
}
