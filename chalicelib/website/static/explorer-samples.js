// A request as a program: curl, Python and JavaScript.

import { stringify } from "./explorer-exact.js";
import { callOf, literal, pythonSample } from "./explorer-python.js";
import { FORM, formMembers } from "./explorer-request.js";

// The languages, by the name of their tab.
export const LANGUAGES = { curl: curlSample, Python: python, JavaScript: javascriptSample };

function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function curlSample({ method, url, headers, text }) {
  const parts = [`curl -sS ${method === "GET" ? "" : `-X ${method} `}${quoted(url)}`];
  for (const [name, value] of Object.entries(headers)) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
  if (text !== undefined) parts.push(`--data-raw ${quoted(text)}`);
  return `${parts.join(" \\\n  ")}\n`;
}

function javascriptSample({ method, url, headers, text, values, body }) {
  const options = [];
  if (method !== "GET") options.push(`method: ${JSON.stringify(method)},`);
  const entries = Object.entries(headers).map(([name, value]) => `    ${JSON.stringify(name)}: ${JSON.stringify(value)},`);
  if (entries.length) options.push(`headers: {\n${entries.join("\n")}\n  },`);
  if (text !== undefined) options.push(`body: ${bodyOf(values.type, text, body)},`);
  const second = options.length ? `, {\n${options.map((option) => `  ${option}`).join("\n")}\n}` : "";
  return `const answer = await fetch(${JSON.stringify(url)}${second});\nconsole.log(answer.status, await answer.json());\n`;
}

// A body as JavaScript's own notation, with the spaces that Execute sends: a payment's key belongs to the same bytes.
// As a text, if that notation would lose digits of a number.
function bodyOf(type, text, body) {
  if (type === FORM) {
    const members = formMembers(body).map(([name, value]) => `    ${name}: ${JSON.stringify(value)},`);
    return `new URLSearchParams({\n${members.join("\n")}\n  })`;
  }
  const again = JSON.stringify(JSON.parse(text), null, 2);
  return again === text ? `JSON.stringify(${text.replaceAll("\n", "\n  ")}, null, 2)` : JSON.stringify(text);
}

function python(request, context) {
  return context.party === "tpp" ? pythonSample(request, context) : plainPython(request);
}

// Without a package, as for the card API: one request with httpx.
function plainPython({ url, body }) {
  const call = callOf("httpx.post", [literal(url), `json=${literal(body ?? null)}`, "timeout=30"]);
  return `import httpx\n\nanswer = ${call}\nprint(answer.status_code, answer.json())\n`;
}

// The text of a body, as it would be typed.
export function bodyText(body) {
  return body === undefined ? "" : stringify(body);
}
