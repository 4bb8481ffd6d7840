// Requests: built from what a form has, sent, and their answers or what went wrong on the way.

import { stringify } from "./explorer-exact.js";

const PATIENCE = 60_000; // milliseconds: twice what the service gives itself

export const FORM = "application/x-www-form-urlencoded";

// The whole request. `values` has path, query and header by name, the body's content type, and its value or its text.
export function buildRequest(operation, values, { service, party, held }) {
  const path = operation.path.replace(/\{([^}]+)\}/g, (_, name) => encodeURIComponent(values.path[name] ?? ""));
  const query = Object.entries(values.query);
  const headers = { ...party.headers(operation, held, values), ...values.header };
  const body = values.body === undefined ? undefined : party.body(values.body, held);
  if (body !== undefined) headers["Content-Type"] = values.type;
  return {
    operation,
    values,
    body,
    method: operation.method,
    url: `${service}${path}${query.length ? `?${encoded(query)}` : ""}`,
    headers,
    text: body === undefined ? undefined : values.type === FORM ? encoded(formMembers(body)) : stringify(body),
  };
}

export function formMembers(body) {
  return Object.entries(body ?? {}).map(([name, value]) => [name, typeof value === "object" ? stringify(value, 0) : String(value)]);
}

function encoded(pairs) {
  return new URLSearchParams(pairs.map(([name, value]) => [name, String(value)])).toString();
}

// Sends a request. The answer: status, headers, text and times in milliseconds; or `failure`, a sentence.
export async function send({ method, url, headers, text }) {
  const begun = performance.now();
  try {
    const answer = await fetch(url, {
      method,
      headers,
      body: text,
      credentials: "omit", // no dialog of the browser asks for what a challenge names
      redirect: "follow",
      cache: "no-store",
      signal: AbortSignal.timeout(PATIENCE),
    });
    const received = await answer.text();
    return {
      status: answer.status,
      reason: answer.statusText || REASONS[answer.status] || "",
      headers: [...answer.headers],
      text: received,
      bytes: new TextEncoder().encode(received).length,
      milliseconds: performance.now() - begun,
      times: times(answer.headers.get("Server-Timing") ?? ""),
    };
  } catch (error) {
    return { failure: explain(error, method), milliseconds: performance.now() - begun };
  }
}

// Status texts, which HTTP/2 does not transmit.
const REASONS = {
  200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 304: "Not Modified", 400: "Bad Request", 401: "Unauthorized",
  403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 409: "Conflict", 413: "Content Too Large",
  415: "Unsupported Media Type", 429: "Too Many Requests", 500: "Internal Server Error", 502: "Bad Gateway",
  503: "Service Unavailable", 504: "Gateway Timeout",
};

// `Server-Timing`: the milliseconds at the hub and at the bank.
function times(header) {
  return Object.fromEntries([...header.matchAll(/(\w+)[^,]*?;\s*dur=([\d.]+)/g)].map(([, name, duration]) => [name, Number(duration)]));
}

function explain(error, method) {
  const unknown = method === "GET" ? "" : " Whether the call took effect is not known.";
  if (error.name === "TimeoutError") return `The service has not answered within ${PATIENCE / 1000} seconds.${unknown}`;
  if (!navigator.onLine) return "This device is offline, so nothing was sent. Connect it, and execute the call again.";
  if (/header/i.test(error.message)) return "A header has a character that headers cannot have, so nothing was sent. Correct it above.";
  return `The service was not reached, or the connection broke before its answer came.${unknown} Check that it runs, and execute the call again.`;
}
