// JSON that keeps numbers as they are written: amounts have all their digits, and none more.

// A number of a JSON text, with the characters that it had.
export class Exact {
  constructor(text) {
    this.text = text;
  }

  toString() {
    return this.text;
  }

  toJSON() {
    return Number(this.text);
  }
}

const TOKEN = /\s*(?:([{}[\]:,])|("(?:[^"\\\u0000-\u001f]|\\.)*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)|(true|false|null))/y;
const WORDS = { true: true, false: false, null: null };

// The value of a JSON text, whose numbers are `Exact`. Throws SyntaxError, with the line and column of what is wrong.
export function parse(text) {
  let at = 0;
  let token = null;

  function wrong(expected) {
    const before = text.slice(0, at).split("\n");
    const where = `line ${before.length}, column ${before.at(-1).length + 1}`;
    throw new SyntaxError(at >= text.trimEnd().length ? `it ends too early: ${expected} is missing` : `${expected} expected in ${where}`);
  }

  function next(expected) {
    const blank = /\s*/y;
    blank.lastIndex = at;
    blank.exec(text);
    TOKEN.lastIndex = at;
    token = TOKEN.exec(text);
    at = blank.lastIndex;
    if (!token) wrong(expected);
    const end = TOKEN.lastIndex;
    return { sign: token[1], string: token[2], number: token[3], word: token[4], end };
  }

  function value() {
    const found = next("a value");
    if (found.sign === "{") return object(found.end);
    if (found.sign === "[") return list(found.end);
    if (found.sign) wrong("a value");
    at = found.end;
    if (found.number !== undefined) return new Exact(found.number);
    return found.string === undefined ? WORDS[found.word] : string(found.string);
  }

  function string(quoted) {
    try {
      return JSON.parse(quoted);
    } catch {
      throw new SyntaxError(`${quoted.slice(0, 40)} is not a string of JSON`);
    }
  }

  function sign(expected) {
    const found = next(expected);
    if (!found.sign || !expected.includes(found.sign)) wrong(expected);
    at = found.end;
    return found.sign;
  }

  function object(start) {
    at = start;
    const made = {};
    for (;;) {
      const name = next("a name in quotes");
      if (name.sign === "}" && Object.keys(made).length === 0) {
        at = name.end;
        return made;
      }
      if (name.string === undefined) wrong("a name in quotes");
      at = name.end;
      sign(":");
      Object.defineProperty(made, string(name.string), { value: value(), enumerable: true, configurable: true, writable: true });
      if (sign(", or }") === "}") return made;
    }
  }

  function list(start) {
    at = start;
    const made = [];
    const first = next("a value or ]");
    if (first.sign === "]") {
      at = first.end;
      return made;
    }
    for (;;) {
      made.push(value());
      if (sign(", or ]") === "]") return made;
    }
  }

  const found = value();
  if (text.slice(at).trim()) wrong("nothing more");
  return found;
}

// The JSON text of a value; `Exact` numbers keep their digits.
export function stringify(value, indent = 2, depth = 0) {
  if (value instanceof Exact) return value.text;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const isList = Array.isArray(value);
  const parts = isList
    ? value.map((item) => stringify(item ?? null, indent, depth + 1))
    : Object.entries(value)
      .filter(([, member]) => member !== undefined)
      .map(([name, member]) => `${JSON.stringify(name)}:${indent ? " " : ""}${stringify(member, indent, depth + 1)}`);
  const [open, close] = isList ? "[]" : "{}";
  if (!parts.length) return open + close;
  if (!indent) return open + parts.join(",") + close;
  const gap = `\n${" ".repeat(indent * (depth + 1))}`;
  return `${open}${gap}${parts.join(`,${gap}`)}\n${" ".repeat(indent * depth)}${close}`;
}

// Whether a value is an object of JSON, and neither a list nor a number.
export function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value) && !(value instanceof Exact);
}
