// The middle of the page: what an operation is for, its parameters and body as a form or as JSON, and its answers.

import { isKind } from "./explorer-document.js";
import { copyButton, foldedMarkdown, h, inline, markdown, unique } from "./explorer-dom.js";
import { isObject, parse, stringify } from "./explorer-exact.js";
import { fits, formField, objectField } from "./explorer-form.js";
import { bodyText } from "./explorer-samples.js";

const ALWAYS = ["Idempotency-Key", "Prefer"]; // headers that are shown at once

// Shows one operation. `context` has the specification, the party, its facts and the memory.
export class OperationView {
  constructor(operation, context, draft) {
    this.operation = operation;
    this.context = context;
    this.fields = { path: new Map(), query: new Map(), header: new Map() };
    this.key = null;
    this.isRaw = false;
    this.element = h("article", { class: "x-operation", "aria-labelledby": "operation-title" });
    this.element.append(...this.#head(), ...this.#form(), ...this.#answers());
    if (draft) this.restore(draft);
    this.begun = this.draft();
  }

  // Leads the keyboard and screen readers here.
  focus() {
    this.element.querySelector("h2").focus({ preventScroll: true });
  }

  get isExecutable() {
    return !this.operation.node.responses["303"]; // a browser is sent to the front door; a script may not follow
  }

  #head() {
    const { method, path, action, summary, description } = this.operation;
    const shown = action ?? path;
    const place = h("code", {}, shown.split(/(?=\/)/).flatMap((part) => [h("wbr"), part]));
    const needs = h("p", { class: "x-about" }, "Needs: ", this.context.party.needs(this.operation), ". ", this.#reference());
    return [
      h("h2", { id: "operation-title", tabindex: "-1" }, summary),
      h(
        "p",
        { class: "x-address" },
        h("span", { class: `x-method ${method.toLowerCase()}` }, method),
        " ",
        place,
        copyButton(place, action ? "the action" : "the path"),
      ),
      h("div", { class: "x-description" }, foldedMarkdown(action ? withoutTitle(description, summary) : description)),
      this.isExecutable ? needs : h("p", { class: "note" }, "This address is for browsers: it redirects to the bank, so it cannot be executed here. ", this.#reference()),
    ];
  }

  #reference() {
    const place = document.querySelector(`a[data-operation="${CSS.escape(this.operation.id)}"]`)?.dataset.reference;
    return place ? h("a", { href: place }, "Reference") : "";
  }

  // -- The form

  #form() {
    this.form = h("form", { class: "x-form", novalidate: true, "aria-label": "Request" });
    const { parameters, bodies } = this.operation;
    const of = (where) => parameters.filter((parameter) => parameter.in === where);
    const headers = of("header");
    this.form.append(
      ...this.#section("Path", "path", of("path")),
      ...this.#section("Query", "query", of("query")),
      ...(bodies.length ? this.#body() : []),
      ...this.#section("Headers", "header", headers.filter(({ name, required }) => required || ALWAYS.includes(name))),
      ...this.#folded(headers.filter(({ name, required }) => !required && !ALWAYS.includes(name))),
    );
    return [this.form];
  }

  #section(title, where, parameters) {
    if (!parameters.length) return [];
    return [h("fieldset", { class: "x-section" }, h("legend", {}, title), parameters.map((parameter) => this.#parameter(where, parameter)))];
  }

  // Headers that few calls have: drawn when somebody opens them.
  #folded(parameters) {
    if (!parameters.length) return [];
    const inside = h("div");
    this.more = h("details", { class: "x-more" }, h("summary", {}, `${parameters.length} more headers`), inside);
    this.drawHeaders = () => {
      if (!inside.childElementCount) inside.append(...parameters.map((parameter) => this.#parameter("header", parameter)));
    };
    this.more.addEventListener("toggle", this.drawHeaders);
    return [this.more];
  }

  #parameter(where, parameter) {
    const { context } = this;
    const schema = { ...context.specification.plain(parameter.schema), description: parameter.description };
    if (schema.anyOf && schema.anyOf.every((option) => !isKind(option) || option.type === "string" || "const" in option)) {
      schema.offered = schema.anyOf.flatMap((option) => option.const ?? []);
      delete schema.anyOf; // one kind of text is as good as another
      schema.type ??= "string";
    }
    const field = formField(context, schema, { name: parameter.name, required: parameter.required });
    field.write(context.party.parameter(parameter, context.facts, context.memory, this.operation));
    if (parameter.name === "Idempotency-Key") this.key = field.read();
    this.fields[where].set(parameter.name, field);
    return field.element;
  }

  #body() {
    const { bodies } = this.operation;
    this.place = h("div");
    this.raw = h("textarea", { class: "mono x-json", rows: "16", spellcheck: "false", "aria-label": "Request body as JSON", hidden: true });
    this.problem = h("p", { class: "x-problem", role: "status" });
    this.chooser = h("div", { class: "x-chooser" });
    const type = h("select", { id: unique("type") }, bodies.map(({ type: name }, number) => h("option", { value: number }, name)));
    type.addEventListener("change", () => this.#useKind(Number(type.value)));
    this.kindSelect = type;
    this.#useKind(0);
    this.raw.addEventListener("input", () => { this.problem.textContent = ""; });
    return [h(
      "fieldset",
      { class: "x-section" },
      h("legend", {}, "Body"),
      h("div", { class: "x-tools" }, this.chooser, bodies.length > 1 ? choice("Sent as", type) : null, this.#switch()),
      this.place,
      this.raw,
      this.problem,
    )];
  }

  #switch() {
    const name = unique("view");
    const radio = (label, isRaw) => {
      const input = h("input", { type: "radio", name, checked: !isRaw, value: label });
      input.addEventListener("change", () => this.showRaw(isRaw));
      return h("label", {}, input, h("span", {}, label));
    };
    this.radios = h("div", { class: "x-switch", role: "group", "aria-label": "Body as" }, radio("Form", false), radio("JSON", true));
    return this.radios;
  }

  #useKind(number) {
    this.kind = this.operation.bodies[number];
    const { party, facts } = this.context;
    this.examples = party.examples(this.kind.examples, facts);
    const select = h("select", { id: unique("example") }, this.examples.map(({ summary }, at) => h("option", { value: at }, summary)));
    select.addEventListener("change", () => this.useExample(Number(select.value)));
    this.chooser.replaceChildren(...(this.examples.length > 1 ? [choice("Example", select)] : []));
    this.exampleSelect = select;
    this.useExample(0);
  }

  useExample(number) {
    const { party, facts, memory } = this.context;
    const value = this.examples[number] ? party.example(structuredClone(this.examples[number].value), facts, memory) : {};
    this.writeBody(value);
    this.form.dispatchEvent(new Event("input", { bubbles: true }));
  }

  // The schema among the alternatives that a body fits.
  alternative(value) {
    const { alternatives } = this.kind;
    return alternatives.find((schema) => fits(this.context.specification, schema, value)) ?? this.schema ?? alternatives[0];
  }

  writeBody(value) {
    this.schema = this.alternative(value);
    if (this.isRaw) {
      this.raw.value = stringify(value);
      this.problem.textContent = "";
      return;
    }
    this.bodyField = objectField(this.context, { ...this.schema, description: undefined }, { required: true }, this.context.party.hidden);
    this.bodyField.write(value);
    this.place.replaceChildren(this.bodyField.element);
  }

  // The form and the JSON text hold the same body, whichever is shown.
  showRaw(isRaw) {
    if (isRaw === this.isRaw) return;
    const found = this.readBody();
    if (found.problem || (!isRaw && !isObject(found.value))) {
      this.radios.querySelector(`[value=${this.isRaw ? "JSON" : "Form"}]`).checked = true;
      this.#tell(found.problem ?? "A form needs an object: { … }.");
      return;
    }
    this.isRaw = isRaw;
    this.place.hidden = isRaw;
    this.raw.hidden = !isRaw;
    this.radios.querySelector(`[value=${isRaw ? "JSON" : "Form"}]`).checked = true;
    this.writeBody(found.value);
    this.form.dispatchEvent(new Event("input", { bubbles: true }));
  }

  #tell(problem) {
    this.problem.textContent = problem;
  }

  readBody() {
    if (!this.kind) return { value: undefined };
    if (!this.isRaw) return { value: this.bodyField.read() };
    if (!this.raw.value.trim()) return { value: undefined };
    try {
      return { value: parse(this.raw.value) };
    } catch (error) {
      return { problem: `The body is not JSON: ${error.message}.` };
    }
  }

  // What is to be sent: path, query and headers by name, and the body. `problem` is a sentence, if it is not possible.
  read() {
    const values = { path: {}, query: {}, header: {} };
    for (const [where, fields] of Object.entries(this.fields)) {
      for (const [name, field] of fields) {
        const value = field.read();
        if (value !== undefined || where === "path") values[where][name] = value === undefined ? "" : String(value);
      }
    }
    const { value, problem } = this.readBody();
    if (problem) this.#tell(problem);
    const schema = value === undefined ? undefined : this.isRaw ? this.alternative(value) : this.schema;
    return { ...values, body: value, type: this.kind?.type, schema, problem };
  }

  // -- Values from elsewhere

  set(values) {
    for (const [name, value] of Object.entries(values)) {
      for (const fields of Object.values(this.fields)) fields.get(name)?.write(value);
    }
  }

  // After a call was sent: a key or reference that was suggested is used up, and another takes its place.
  renew() {
    const key = this.fields.header.get("Idempotency-Key");
    if (key && key.read() === this.key) {
      this.key = crypto.randomUUID();
      key.write(this.key);
    }
    const { value } = this.readBody();
    const renewed = this.context.party.renewed(value);
    if (renewed) this.writeBody({ ...value, ...renewed });
  }

  get isChanged() {
    return this.draft() !== this.begun;
  }

  draft() {
    const { path, query, header, body, problem } = this.read();
    const { "Idempotency-Key": key, ...others } = header;
    const kept = this.context.party.renewed(body) ? { ...body, ...Object.fromEntries(Object.keys(this.context.party.renewed(body)).map((name) => [name, ""])) } : body;
    return stringify({ path, query, header: others, body: kept ?? null, raw: problem ? this.raw.value : null, kind: this.kindSelect?.value ?? null }, 0);
  }

  restore(draft) {
    const { path, query, header, body, raw, kind } = parse(draft);
    if (kind) {
      this.kindSelect.value = kind;
      this.#useKind(Number(kind));
    }
    if (Object.keys(header).some((name) => !this.fields.header.has(name))) {
      this.drawHeaders?.();
      this.more.open = true;
    }
    for (const [where, values] of Object.entries({ path, query, header })) {
      for (const [name, field] of this.fields[where]) if (name !== "Idempotency-Key") field.write(values[name]);
    }
    if (raw) {
      this.showRaw(true);
      this.raw.value = raw;
    } else if (body) this.writeBody({ ...body, ...this.context.party.renewed(body) });
  }

  // -- Documented answers

  #answers() {
    const { responses } = this.operation;
    const good = responses.filter(({ status }) => Number(status) < 400);
    const bad = responses.filter(({ status }) => Number(status) >= 400);
    return [
      folded(`Answers: ${good.map(({ status }) => status).join(", ")}`, () => good.map((response) => this.#response(response))),
      ...(bad.length ? [folded(`Documented errors: ${bad.map(({ status }) => status).join(", ")}`, () => bad.map((response) => this.#response(response)))] : []),
    ];
  }

  #response({ status, description, examples }) {
    return h(
      "section",
      { class: "x-response" },
      h("h3", {}, status),
      markdown(description),
      examples.map((example) => folded(example.summary ?? example.name, () => [
        h("pre", { class: "x-example", tabindex: "0", "aria-label": `Example: ${example.summary ?? example.name}` }, bodyText(example.value)),
      ])),
    );
  }
}

function withoutTitle(description, summary) {
  return description.startsWith(`${summary}.`) ? description.slice(summary.length + 1).trim() : description;
}

function choice(label, select) {
  return h("div", { class: "x-choice" }, h("label", { for: select.id }, label), select);
}

// What is drawn when somebody opens it.
function folded(title, draw) {
  const inside = h("div", { class: "x-inside" });
  const details = h("details", { class: "x-folded" }, h("summary", {}, inline(title)), inside);
  details.addEventListener("toggle", () => inside.childElementCount || inside.append(...draw()));
  return details;
}
