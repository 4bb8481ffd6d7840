// The OpenAPI document: fetched and parsed once; what an operation needs is resolved when somebody opens it.

const NOTHING = Object.freeze({});

export class Specification {
  constructor(whole, { isSandbox }) {
    this.whole = whole;
    this.operations = new Map();
    for (const [path, methods] of Object.entries(whole.paths)) {
      for (const [method, node] of Object.entries(methods)) {
        if (node["x-outside-prod-only"] && !isSandbox) continue;
        const mapping = node.requestBody?.content["application/json"]?.schema.discriminator?.mapping;
        if (mapping) this.#addActions(path, method, node, mapping);
        else this.operations.set(node.operationId, { id: node.operationId, method: method.toUpperCase(), path, node });
      }
    }
  }

  #addActions(path, method, node, mapping) {
    for (const [action, reference] of Object.entries(mapping)) {
      this.operations.set(action, { id: action, method: method.toUpperCase(), path, node, action, reference });
    }
  }

  // What a reference leads to; members beside `$ref` come first, as a description does.
  resolve(schema) {
    if (!schema?.$ref) return schema ?? NOTHING;
    const { $ref, ...own } = schema;
    const found = $ref.slice(2).split("/").reduce((part, name) => part[name.replaceAll("~1", "/").replaceAll("~0", "~")], this.whole);
    return { ...this.resolve(found), ...own, called: $ref.split("/").at(-1) };
  }

  // Everything about an operation: made when it is opened for the first time.
  details(id) {
    const operation = this.operations.get(id);
    if (!operation || operation.details) return operation;
    const { node, action } = operation;
    const schema = action && this.resolve({ $ref: operation.reference });
    return Object.assign(operation, {
      details: true,
      summary: action ? node.requestBody.content["application/json"].examples[action].summary : node.summary,
      description: action ? schema.description : node.description,
      security: node.security ?? [],
      parameters: (node.parameters ?? []).map((parameter) => this.resolve(parameter)),
      bodies: this.#bodies(operation),
      responses: this.#responses(operation),
    });
  }

  // The kinds of body: content type, alternatives of the schema, and examples.
  #bodies({ node, action, reference }) {
    return Object.entries(node.requestBody?.content ?? {}).map(([type, content]) => {
      const options = action ? [{ $ref: reference }] : content.schema.anyOf ?? content.schema.oneOf ?? [content.schema];
      const examples = Object.entries(content.examples ?? {})
        .filter(([name]) => !action || name === action || name.startsWith(`${action}_`))
        .map(([name, example]) => ({ name, ...this.resolve(example) }));
      return { type, alternatives: options.map((option) => this.resolve(option)), examples };
    });
  }

  #responses({ node, action }) {
    return Object.entries(node.responses).map(([status, response]) => {
      const found = this.resolve(response);
      const [content] = Object.values(found.content ?? {});
      const examples = Object.entries(content?.examples ?? {})
        .filter(([name]) => !action || name === action || name.startsWith("error_"))
        .map(([name, example]) => ({ name, ...this.resolve(example) }));
      return { status, description: found.description, examples };
    });
  }

  // A schema without its wrapping: references, and `null` beside one other kind.
  plain(schema) {
    const found = this.resolve(schema);
    const options = (found.anyOf ?? found.oneOf ?? []).filter((option) => option.type !== "null" && isKind(option));
    if (options.length !== 1) return found;
    const { anyOf, oneOf, ...own } = found;
    return { ...this.resolve(options[0]), ...own };
  }
}

// An alternative may be another kind of value, or only a further rule for this one.
export function isKind(option) {
  return ["$ref", "type", "enum", "const", "properties", "items"].some((name) => name in option);
}

export function typesOf(schema) {
  const types = [schema.type ?? (schema.properties ? "object" : schema.items ? "array" : [])].flat();
  return types.filter((type) => type !== "null");
}

// -- The rules of a value, in words

const FORMATS = {
  uri: "an address", uuid: "a UUID", date: "a date, YYYY-MM-DD", "date-time": "a time, as in 2026-11-21T09:30:00Z",
  iban: "an IBAN", ipv4: "an IPv4 address", ipv6: "an IPv6 address", email: "an email address",
};

function between(least, most, unit) {
  if (least === undefined && most === undefined) return null;
  const one = (number) => (number === 1 ? unit.replace(/s$/, "") : unit);
  if (least === most) return `exactly ${least} ${one(least)}`;
  if (!least) return `at most ${most} ${one(most)}`;
  if (most === undefined) return `at least ${least} ${one(least)}`;
  return `${least} to ${most} ${unit}`;
}

// The values of an enumeration without null, and without the text of a number that is there as a number.
export function choicesOf(schema) {
  const values = (schema.enum ?? []).filter((value) => value !== null);
  const numbers = new Set(values.filter((value) => typeof value === "number").map(String));
  return values.filter((value) => typeof value !== "string" || !numbers.has(value.replace(/^0+(?=\d)/, "")));
}

// Omit rules that the description states.
const FORMAT_SAID = { uri: /\bURL\b/, uuid: /\bUUID\b/, iban: /\bIBAN\b/, date: /YYYY-MM-DD/ };
const LENGTH_SAID = /\b(characters|digits|length)\b/;
const NUMBER_SAID = /\b(number|amount)\b/i;
const WHOLE_SAID = /\bwhole number\b/i;
const RANGE_SAID = /\bfrom \d+ to \d+\b/;

const ABOVE = 1e15; // a bound beyond which a number is only as long as its digits

export function rulesOf(schema) {
  const types = typesOf(schema);
  const said = schema.description ?? "";
  const isLengthSaid = LENGTH_SAID.test(said);
  const rules = [];
  if (schema.format) rules.push(FORMAT_SAID[schema.format]?.test(said) ? null : FORMATS[schema.format] ?? schema.format);
  else if (types.includes("integer") && !types.includes("string")) rules.push(WHOLE_SAID.test(said) ? null : "a whole number");
  else if (types.includes("number") && !NUMBER_SAID.test(said)) rules.push("a number");
  if (types.includes("string") && !schema.enum && !isLengthSaid && !schema.format?.startsWith("date")) {
    rules.push(between(schema.minLength, schema.maxLength, "characters"));
  }
  if (types.includes("array")) rules.push(between(schema.minItems, schema.maxItems, "entries"));
  const above = schema.exclusiveMinimum !== undefined ? `more than ${schema.exclusiveMinimum}` : null;
  const least = schema.minimum !== undefined && schema.minimum > -ABOVE ? `from ${schema.minimum}` : null;
  const most = schema.maximum !== undefined && schema.maximum < ABOVE ? `to ${schema.maximum}` : null;
  rules.push(above, RANGE_SAID.test(said) ? null : [least, most].filter(Boolean).join(" "));
  if (schema.pattern && !schema.format && !isLengthSaid && schema.pattern.length <= 40 && !schema.pattern.includes("\\u")) rules.push(`pattern ${schema.pattern}`);
  if (schema.uniqueItems) rules.push("no entry twice");
  if (schema.default !== undefined) rules.push(`default ${JSON.stringify(schema.default)}`);
  return rules.filter(Boolean);
}
