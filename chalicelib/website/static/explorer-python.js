// The same call in Python, with `causeway.tpp`: a table of its methods, and orders as the classes of the package.

import { typesOf } from "./explorer-document.js";
import { Exact, isObject } from "./explorer-exact.js";

const AUTHORIZATION = { code_challenge: "code_verifier" };
const TOKENS = { authorization_code: "code" };

// For each operation: whose method it is, its name, other names of arguments, the argument without a name, whether the body
// is one argument, an order, and the members of the body that are arguments beside it.
export const METHODS = {
  authorize: { on: "tpp", method: "authorize", renamed: AUTHORIZATION },
  oauth_par: { on: "tpp", method: "push_authorization", renamed: { ...AUTHORIZATION, scope: "scopes" } },
  oauth_authorize: { on: "tpp", method: "authorization_url", renamed: { ...AUTHORIZATION, scope: "scopes" } },
  token: { on: "tpp", method: "exchange", renamed: TOKENS },
  oauth_introspect: { on: "tpp", method: "introspect" },
  token_revoke: { on: "tpp", method: "revoke", silent: true },
  scope: { on: "tpp", method: "scopes" },
  banks: { on: "tpp", method: "banks_page" },
  bank: { on: "tpp", method: "bank" },
  consent: { on: "consent", method: "details" },
  consents: { on: "tpp", method: "consents_page" },
  events: { on: "tpp", method: "events_page" },
  requests: { on: "either", method: "deferred" },
  well_known_oauth_authorization_server: { on: "tpp", method: "server_metadata" },
  well_known_oauth_protected_resource: { on: "tpp", method: "resource_metadata" },
  well_known_jwks_json: { on: "tpp", method: "keys" },
  unified_accounts: { on: "consent", method: "accounts_answer" },
  unified_account: { on: "consent", method: "account", first: "account_id" },
  unified_balances: { on: "consent", method: "balances", first: "account_id" },
  unified_transactions: { on: "consent", method: "transactions_page", first: "account_id", renamed: { from: "since", to: "until" } },
  unified_payments: { on: "consent", method: "pay", order: true },
  unified_bulk_payments: { on: "consent", method: "pay_bulk", order: true },
  unified_direct_payments: { on: "tpp", method: "pay_direct", order: true, beside: ["bic"] },
  unified_payment_status: { on: "either", method: "payment_status" },
  unified_funds_confirmations: { on: "consent", method: "confirm_funds", beside: ["account", "amount"] },
  accounts: { on: "consent", method: "native.accounts_answer" },
  account: { on: "consent", method: "native.account" },
  account_balance: { on: "consent", method: "native.balances" },
  account_payments: { on: "consent", method: "native.payments_page" },
  account_payment: { on: "consent", method: "native.payment" },
  account_transactions: { on: "consent", method: "native.transactions_page" },
  funds_confirmations: { on: "consent", method: "native.confirm_funds", order: true },
  payment_initiation: { on: "consent", method: "native.pay", order: true },
  bulk_payment_initiation: { on: "consent", method: "native.pay_bulk", order: true },
  direct_payment_initiation: { on: "tpp", method: "native.pay_direct", order: true },
  payment_status: { on: "either", method: "native.payment_status" },
};

// What the client of the package adds by itself.
const BY_ITSELF = new Set([
  "client_id", "client_secret", "client_assertion", "client_assertion_type", "grant_type", "response_type", "token_type_hint",
  "code_challenge_method", "dpop_jkt", "chosen_bic",
]);
const HEADERS = { "Idempotency-Key": "idempotency_key", "X-Request-Id": "request_id" };
const AMOUNTS = new Set(["amount", "balance"]);
const CLASSES = { PaidAmount: "Amount", DirectPayment: "Payment" }; // of schemas whose class has another name

// The program. `context` has the service's address, the credentials, and the consent that belongs to them, if known.
export function pythonSample(request, context) {
  const { operation, values } = request;
  const row = METHODS[operation.id];
  const names = new Set(["Tpp"]);
  const imports = new Set();
  const onConsent = row.on === "consent" || (row.on === "either" && !values.query.bic && Boolean(context.held?.token));
  const made = ofBody(row, context, values.body, names, imports);
  const call = `${onConsent ? "consent" : "tpp"}.${row.method}`;
  const given = [...made, ...argumentsOf(row, request, names)];
  const lines = [`tpp = ${callOf("Tpp", [literal(context.service), ...clientOf(context.held)])}`];
  if (onConsent) lines.push(consentOf(context, names, imports));
  lines.push(row.silent ? callOf(call, given) : `answer = ${callOf(call, given)}`);
  if (!row.silent) lines.push("print(answer)");
  return `${importsOf(imports, names)}\n\n${lines.join("\n")}\n`;
}

function importsOf(imports, names) {
  const sorted = [...names].sort((one, other) => (rank(one) - rank(other)) || (one < other ? -1 : 1));
  const line = `from causeway.tpp import ${sorted.join(", ")}`;
  const last = line.length <= 100 ? line : `from causeway.tpp import (\n${sorted.map((name) => `    ${name},\n`).join("")})`;
  return [...[...imports].sort(), ...(imports.size ? [""] : []), last].join("\n");
}

function rank(name) {
  return /^[A-Z]/.test(name) ? 0 : 1;
}

function clientOf(held) {
  const secret = held?.secret ? [`client_secret=${literal(held.secret)}`] : [];
  return [`client_id=${literal(held?.client ?? "CLIENT_ID")}`, ...secret];
}

// The consent of the access token. A program of one's own stores the tokens, and reads them with `Tokens.from_json`.
function consentOf({ held, consent, refreshToken }, names, imports) {
  names.add("Tokens");
  imports.add("from datetime import datetime");
  const until = `datetime.fromisoformat(${literal(consent?.valid_until ?? "2030-01-01T00:00:00+00:00")})`;
  const tokens = callOf("Tokens", [
    `access_token=${literal(held?.token || "ACCESS_TOKEN")}`,
    `refresh_token=${literal(refreshToken ?? "REFRESH_TOKEN")}`,
    `expires_at=${until}`,
    `scope=${literal((consent?.scopes ?? ["accounts:read"]).join(" "))}`,
    `consent_id=${literal(consent?.consent_id ?? "CONSENT_ID")}`,
    `valid_until=${until}`,
  ]);
  return `consent = ${callOf("tpp.consent", [tokens])}`;
}

function argumentsOf(row, { operation, values }, names) {
  const types = Object.fromEntries(operation.parameters.map(({ name, schema }) => [name, typesOf(schema)]));
  const body = row.order || row.beside || !isObject(values.body) ? {} : values.body;
  const members = { ...values.path, ...values.query, ...body };
  const given = new Map();
  for (const [name, value] of Object.entries(members)) {
    if (BY_ITSELF.has(name) || value === null || name === row.first) continue;
    const renamed = row.renamed?.[name] ?? name;
    if (renamed === "code_verifier" && name !== renamed) {
      names.add("new_code_verifier");
      given.set(renamed, "new_code_verifier()");
    } else if (name === "native") given.set(name, literal(value === "1"));
    else if (renamed === "scopes") given.set(renamed, literal(Array.isArray(value) ? value : String(value).split(" ")));
    else given.set(renamed, types[name]?.[0] === "integer" ? String(value) : literal(value));
  }
  const first = row.first in members ? [literal(members[row.first])] : [];
  return [...first, ...[...given].map(([name, value]) => `${name}=${value}`), ...headersOf(values.header, operation, names)];
}

function headersOf(header, operation, names) {
  const isPayment = operation.parameters.some(({ name }) => name === "Idempotency-Key");
  const found = Object.entries(HEADERS).filter(([name]) => header[name] && isPayment).map(([name, argument]) => `${argument}=${literal(header[name])}`);
  const psu = Object.entries(header).filter(([name]) => name.startsWith("PSU-"))
    .map(([name, value]) => `${name.slice(4).toLowerCase().replaceAll("-", "_")}=${literal(value)}`);
  if (psu.length) {
    names.add("Psu");
    found.push(`psu=${callOf("Psu", psu)}`);
  }
  if (/respond-async/.test(header.Prefer ?? "")) found.push("prefer_async=True");
  return found;
}

// -- Orders: the document's schemas are the package's classes

// The arguments that a body becomes: the order, and the members beside it.
function ofBody({ order, beside = [] }, { schema, specification }, body, names, imports) {
  const members = Object.entries(isObject(body) ? body : {});
  const others = members.filter(([name]) => beside.includes(name)).map(([name, member]) => (
    `${name}=${isObject(member) ? objectOf(specification, schema.properties[name], member, names, imports) : literal(member)}`
  ));
  if (!order) return others;
  const rest = { ...schema, required: (schema.required ?? []).filter((name) => !beside.includes(name)) };
  const ordered = Object.fromEntries(members.filter(([name]) => !beside.includes(name)));
  return [objectOf(specification, rest, ordered, names, imports), ...others];
}

function objectOf(specification, given, value, names, imports) {
  const schema = specification.plain(given);
  if (isKnown(specification, schema, value)) return construction(specification, schema, value, names, imports);
  names.add(classOf(schema));
  return callOf(`${classOf(schema)}.from_json`, [literal(value)]);
}

function classOf({ called }) {
  return CLASSES[called] ?? called?.replace(/Form$/, "");
}

function isKnown(specification, given, value) {
  const schema = specification.plain(given);
  if (Array.isArray(value)) return schema.items ? value.every((item) => isKnown(specification, schema.items, item)) : false;
  if (!isObject(value)) return true;
  const properties = schema.properties ?? {};
  return Boolean(schema.called) && (schema.required ?? []).every((name) => value[name] !== undefined)
    && Object.entries(value).every(([name, member]) => name in properties && isKnown(specification, properties[name], member));
}

function construction(specification, given, value, names, imports) {
  const schema = specification.plain(given);
  names.add(classOf(schema));
  const members = Object.entries(value).map(([name, member]) => (
    `${attribute(name)}=${valueOf(specification, schema.properties[name], name, member, names, imports)}`
  ));
  return callOf(classOf(schema), members);
}

function valueOf(specification, given, name, value, names, imports) {
  const schema = specification.plain(given);
  if (value === null) return "None";
  if (Array.isArray(value)) {
    return listOf(value.map((item) => valueOf(specification, schema.items, name, item, names, imports)));
  }
  if (isObject(value)) return construction(specification, schema, value, names, imports);
  const types = typesOf(schema);
  if ((types.length > 1 && AMOUNTS.has(name)) || name === "value") {
    imports.add("from decimal import Decimal");
    return `Decimal(${literal(String(value))})`;
  }
  if (schema.format === "date") {
    imports.add("from datetime import date");
    return `date.fromisoformat(${literal(value)})`;
  }
  return types.length > 1 ? literal(String(value)) : literal(value);
}

function attribute(name) {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

// -- Python's notation

// A call on one line, or with an argument per line if it is long.
export function callOf(name, given) {
  const line = `${name}(${given.join(", ")})`;
  if (line.length <= 88 && !line.includes("\n")) return line;
  return `${name}(\n${indented(given)})`;
}

function listOf(items) {
  const line = `[${items.join(", ")}]`;
  return line.length <= 80 && !line.includes("\n") ? line : `[\n${indented(items)}]`;
}

function indented(parts) {
  return parts.map((part) => `${part.replace(/^/gm, "    ")},\n`).join("");
}

// A value of JSON as Python writes it.
export function literal(value) {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (value instanceof Exact) return value.text;
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return JSON.stringify(value).replaceAll("\u007f", "\\x7f");
  if (Array.isArray(value)) return listOf(value.map(literal));
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${literal(member)}`);
  const line = `{${members.join(", ")}}`;
  return line.length <= 80 && !line.includes("\n") ? line : `{\n${indented(members)}}`;
}
