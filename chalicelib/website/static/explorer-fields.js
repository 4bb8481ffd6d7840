// The fields of single values: text, numbers, choices. A field has its element, and reads and writes its value.

import { choicesOf, rulesOf, typesOf } from "./explorer-document.js";
import { h, inline, unique } from "./explorer-dom.js";
import { Exact, parse, stringify } from "./explorer-exact.js";

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?$/;
const MANY = 30; // choices beyond which one types, and is offered what fits

// The field of a schema that is neither an object nor a list.
export function scalarField(context, schema, label) {
  if ("const" in schema && label.required) return constantField(schema.const);
  const choices = "const" in schema ? [schema.const] : choicesOf(schema);
  if (choices.length && choices.length <= MANY) return choiceField(schema, label, choices);
  if (typesOf(schema)[0] === "boolean") return choiceField(schema, label, [true, false]);
  return textField(context, schema, label, choices);
}

function constantField(value) {
  return { element: null, read: () => value, write() {} };
}

// A value with its name, what it means, and its rules.
function labelled(control, schema, { name, required, shown = name }) {
  const about = unique("about");
  const rules = rulesOf(schema);
  control.id ||= unique(name);
  control.setAttribute("aria-describedby", about);
  return h(
    "div",
    { class: "x-field" },
    h("label", { for: control.id }, h("code", {}, shown), required ? h("span", { class: "x-required" }, " required") : null),
    control,
    h(
      "p",
      { class: "x-about", id: about },
      inline(schema.description ?? ""),
      (schema.description && rules.length ? " · " : "") + rules.join(" · "),
      h("span", { class: "x-problem" }),
    ),
  );
}

function choiceField(schema, label, choices) {
  const values = new Map(choices.map((value) => [String(value), value]));
  const select = h("select", {}, label.required ? null : h("option", { value: "" }, "–"), [...values.keys()].map(option));
  return {
    element: labelled(select, schema, label),
    read: () => (select.value === "" ? undefined : values.get(select.value)),
    write(value) {
      const text = value === undefined || value === null ? "" : String(value);
      if (text && !values.has(text)) select.append(option(text));
      if (text) values.set(text, value);
      select.value = text;
      if (select.selectedIndex < 0) select.selectedIndex = 0;
    },
  };
}

function option(text) {
  return h("option", { value: text }, text);
}

function textField(context, schema, label, choices) {
  const types = typesOf(schema);
  const isNumeric = types.includes("integer") || types.includes("number");
  const original = new Map(choices.map((value) => [String(value), value]));
  const offered = schema.offered ?? choices;
  const suggested = context.suggests(label.name) || offered.length > 0;
  let asNumber = isNumeric && !types.includes("string");
  const input = h("input", {
    type: schema.format === "date" ? "date" : context.isSecret(label.name) ? "password" : "text",
    inputmode: isNumeric ? (types.includes("number") ? "decimal" : "numeric") : null,
    autocomplete: "off",
    spellcheck: "false",
    "aria-required": label.required ? "true" : null,
  });
  const element = labelled(input, schema, label);
  if (suggested) element.append(suggestions(input, () => (offered.length ? offered : context.suggestions(label.name))));
  input.addEventListener("change", () => tellProblem(input, element, schema));
  return {
    element,
    read() {
      const text = input.value;
      if (text === "") return undefined;
      if (original.has(text)) return original.get(text);
      return asNumber && NUMBER.test(text) ? new Exact(text) : text;
    },
    write(value) {
      if (typeof value === "number" || value instanceof Exact) asNumber = isNumeric;
      else if (typeof value === "string" && types.includes("string")) asNumber = false;
      if (choices.length && value !== undefined && value !== null) original.set(String(value), value);
      input.value = value === undefined || value === null ? "" : String(value);
      tellProblem(input, element, schema);
    },
  };
}

// What fits a field is offered while one types; it is collected when somebody comes to the field.
function suggestions(input, values) {
  const list = h("datalist", { id: unique("offers") });
  input.setAttribute("list", list.id);
  const fill = () => list.replaceChildren(...values().map((each) => (
    each && typeof each === "object" ? h("option", { value: each.value, label: each.label }) : h("option", { value: each })
  )));
  input.addEventListener("pointerdown", fill);
  input.addEventListener("focus", fill);
  return list;
}

// -- What is wrong with a value; it can be sent all the same, since errors are there to be tried

function tellProblem(input, element, schema) {
  const problem = input.value === "" ? "" : problemOf(schema, input.value);
  element.querySelector(".x-problem").textContent = problem ? ` ${problem}` : "";
  if (problem) input.setAttribute("aria-invalid", "true");
  else input.removeAttribute("aria-invalid");
}

function problemOf(schema, text) {
  const types = typesOf(schema);
  const length = [...text].length;
  if (!types.includes("string") && types.length && types[0] !== "boolean") {
    if (!NUMBER.test(text)) return "This is not a number.";
    if (types[0] === "integer" && text.includes(".")) return "This is not a whole number.";
  }
  if (NUMBER.test(text) && (types.includes("integer") || types.includes("number"))) {
    const number = Number(text);
    if (number < (schema.minimum ?? -Infinity) || number <= (schema.exclusiveMinimum ?? -Infinity)) return "This is too small.";
    if (number > (schema.maximum ?? Infinity)) return "This is too large.";
  }
  if (!types.includes("string")) return "";
  if (length < (schema.minLength ?? 0)) return `This is too short: ${length} of at least ${schema.minLength} characters.`;
  if (length > (schema.maxLength ?? Infinity)) return `This is too long: ${length} of at most ${schema.maxLength} characters.`;
  return schema.pattern && !expression(schema.pattern).test(text) ? "This does not have the right form." : "";
}

function expression(pattern) {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return /^/;
  }
}

// -- An object with members that nobody knows in advance, as JSON

export function jsonField(schema, label) {
  const input = h("textarea", { rows: "4", spellcheck: "false", class: "mono" });
  const element = labelled(input, schema, label);
  const problem = element.querySelector(".x-problem");
  input.addEventListener("change", () => {
    try {
      if (input.value.trim()) parse(input.value);
      problem.textContent = "";
    } catch (error) {
      problem.textContent = ` This is not JSON: ${error.message}.`;
    }
  });
  return {
    element,
    read() {
      if (!input.value.trim()) return undefined;
      try {
        return parse(input.value);
      } catch {
        return input.value;
      }
    },
    write(value) {
      input.value = value === undefined || value === null ? "" : stringify(value);
    },
  };
}
