// A form from a schema: objects, lists and alternatives, down to the fields of single values.

import { choicesOf, isKind, typesOf } from "./explorer-document.js";
import { h, inline, unique } from "./explorer-dom.js";
import { Exact, isObject } from "./explorer-exact.js";
import { jsonField, scalarField } from "./explorer-fields.js";

const CHECKED = 40; // choices that are shown as boxes to check

// The field of any schema. `label` has the name, and whether the member is required.
export function formField(context, given, label) {
  const schema = context.specification.plain(given);
  const options = (schema.anyOf ?? schema.oneOf ?? []).filter((option) => option.type !== "null" && isKind(option));
  if (options.length > 1) return alternativesField(context, schema, options, label);
  const [type] = typesOf(schema);
  if (type === "array") return listField(context, schema, label);
  if (type === "object") return schema.properties ? objectField(context, schema, label) : jsonField(schema, label);
  return scalarField(context, schema, label);
}

// Tells the form that somebody has added or removed a part of it.
function changed(element) {
  element.dispatchEvent(new Event("input", { bubbles: true }));
}

// -- Objects: what is required and what has a value first; the rest when somebody wants it

export function objectField(context, schema, label, hidden = new Set()) {
  const names = Object.keys(schema.properties ?? {}).filter((name) => !hidden.has(name));
  const required = new Set(schema.required);
  const element = label.name
    ? h("fieldset", { class: "x-object" }, legendOf(label), schema.description ? h("p", { class: "x-about" }, inline(schema.description)) : null)
    : h("div", { class: "x-object" });
  const place = h("div", { class: "x-members" });
  element.append(place);
  let fields = new Map();
  let unknown = {};

  function add(name, value, to) {
    const field = formField(context, schema.properties[name], { name, required: required.has(name) });
    fields.set(name, field);
    field.write(value);
    if (field.element) to.append(field.element);
  }

  function addRest(rest) {
    const inside = h("div", { class: "x-members" });
    const more = h("details", { class: "x-more" }, h("summary", {}, optional(rest.length, fields.size > 0)), inside);
    more.addEventListener("toggle", () => {
      if (inside.childElementCount === 0) for (const name of rest) add(name, undefined, inside);
    });
    place.append(more);
  }

  return {
    element,
    read() {
      const members = { ...unknown };
      for (const name of names) {
        const value = fields.get(name)?.read();
        if (value !== undefined) members[name] = value;
      }
      return label.required || Object.keys(members).some((name) => !isFixed(schema, name)) ? members : undefined;
    },
    write(value) {
      const given = isObject(value) ? value : {};
      fields = new Map();
      unknown = Object.fromEntries(Object.entries(given).filter(([name, member]) => !names.includes(name) || member === null));
      place.replaceChildren();
      const isShown = (name) => required.has(name) || (given[name] !== undefined && given[name] !== null);
      for (const name of names.filter(isShown)) add(name, given[name], place);
      const rest = names.filter((name) => !isShown(name));
      if (rest.length) addRest(rest);
    },
  };
}

function isFixed(schema, name) {
  return "const" in (schema.properties?.[name] ?? {});
}

function optional(number, isMore) {
  return `${number} ${isMore ? "more " : ""}optional ${number === 1 ? "field" : "fields"}`;
}

function legendOf({ name, required, shown = name }) {
  return h("legend", {}, h("code", {}, shown), required ? h("span", { class: "x-required" }, " required") : null);
}

// -- Lists

function listField(context, schema, label) {
  const items = context.specification.plain(schema.items ?? {});
  const choices = choicesOf(items);
  return schema.uniqueItems && choices.length && choices.length <= CHECKED
    ? boxesField(schema, label, choices)
    : entriesField(context, schema, items, label);
}

function boxesField(schema, label, choices) {
  const boxes = choices.map((choice) => h("input", { type: "checkbox", value: String(choice) }));
  const element = h(
    "fieldset",
    { class: "x-object" },
    legendOf(label),
    h("p", { class: "x-about" }, inline(schema.description ?? "")),
    h("div", { class: "x-boxes" }, boxes.map((box, number) => h("label", { class: "x-box" }, box, h("code", {}, String(choices[number]))))),
  );
  return {
    element,
    read() {
      const checked = choices.filter((_, number) => boxes[number].checked);
      return checked.length || label.required ? checked : undefined;
    },
    write(value) {
      const given = new Set([value ?? []].flat().map(String));
      boxes.forEach((box) => { box.checked = given.has(box.value); });
    },
  };
}

function entriesField(context, schema, items, label) {
  const place = h("ol", { class: "x-entries" });
  const addition = h("button", { type: "button", class: "quiet slim" }, "Add an entry", h("span", { class: "hidden" }, ` to ${label.name}`));
  const element = h(
    "fieldset",
    { class: "x-object" },
    legendOf(label),
    h("p", { class: "x-about" }, inline(schema.description ?? "")),
    place,
    addition,
  );
  let fields = [];

  function add(value) {
    const name = `${label.name} ${fields.length + 1}`;
    const field = formField(context, items, { name: label.name, shown: name, required: true });
    field.write(value);
    const removal = h("button", { type: "button", class: "quiet slim" }, "Remove", h("span", { class: "hidden" }, ` ${name}`));
    const entry = h("li", {}, field.element, removal);
    removal.addEventListener("click", () => {
      fields = fields.filter((each) => each !== field);
      entry.remove();
      addition.focus();
      changed(element);
    });
    fields.push(field);
    place.append(entry);
    return entry;
  }

  addition.addEventListener("click", () => {
    add(undefined).querySelector("input, select, textarea, button")?.focus();
    changed(element);
  });
  return {
    element,
    read() {
      const values = fields.map((field) => field.read()).filter((value) => value !== undefined);
      return values.length || label.required ? values : undefined;
    },
    write(value) {
      fields = [];
      place.replaceChildren();
      const entries = value === undefined || value === null ? Array(label.required ? schema.minItems ?? 0 : 0).fill(undefined) : [value].flat();
      entries.forEach(add);
    },
  };
}

// -- Alternatives: one of several kinds of value

function alternativesField(context, schema, options, label) {
  const kinds = options.map((option) => context.specification.plain(option));
  const select = h("select", { id: unique("kind"), "aria-label": `Kind of ${label.name}` }, kinds.map((kind, number) => (
    h("option", { value: number }, nameOf(kind))
  )));
  const place = h("div");
  const element = h("div", { class: "x-alternatives" }, select, place);
  let field = null;

  function choose(number, value) {
    select.value = String(number);
    field = formField(context, { description: schema.description, ...kinds[number] }, label);
    field.write(value);
    place.replaceChildren(...[field.element].filter(Boolean));
  }

  select.addEventListener("change", () => {
    choose(Number(select.value), undefined);
    changed(element);
  });
  return {
    element,
    read: () => field?.read(),
    write(value) {
      const fitting = kinds.findIndex((kind) => fits(context.specification, kind, value));
      choose(Math.max(fitting, 0), value);
    },
  };
}

function nameOf(schema) {
  if (schema.title) return schema.title;
  const [type] = typesOf(schema);
  return { array: "A list", object: schema.called ?? "An object" }[type] ?? "A single value";
}

// Whether a value is of a schema's kind: its type, and for an object its members.
export function fits(specification, given, value) {
  const schema = specification.plain(given);
  if (value === undefined) return false;
  if (schema.enum) return schema.enum.some((each) => String(each) === String(value));
  const types = typesOf(schema);
  if (Array.isArray(value)) return types.includes("array");
  if (!isObject(value)) return types.length === 0 || types.includes(typeOf(value)) || (typeOf(value) === "number" && types.includes("integer"));
  const names = Object.keys(value);
  const properties = schema.properties ?? {};
  return types.includes("object") && (schema.required ?? []).every((name) => name in value)
    && (schema.additionalProperties !== false || names.every((name) => name in properties));
}

function typeOf(value) {
  return value instanceof Exact ? "number" : typeof value;
}
