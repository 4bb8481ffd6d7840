// What programme managers call: one address for many actions, each shown as an operation of its own. The credential's
// three parts are put into every body that is sent.

import { Exact, isObject } from "./explorer-exact.js";

const CREDENTIAL = ["access_key", "access_api_id", "access_api_key"];

// What answers have named is filled into other actions.
const NAMED = [
  "holder_id", "account_id", "card_id", "card_request_id", "auth_request_id", "validation_value",
  "card_pan", "card_cvc2", "card_expiration_year", "card_expiration_month",
  "record_id", "epm_address_id", "epm_transaction_id", "returned_epm_transaction_id", "epm_mandate_id",
];
const PASSING = new Set(["validation_value", "card_pan", "card_cvc2", "card_expiration_year", "card_expiration_month"]);

function membersOf(action, { id, data }) {
  const [first] = Array.isArray(data) ? data : [];
  const members = { ...(isObject(data) ? data : {}) };
  if (action === "createHolder") members.holder_id = id ?? members.id;
  if (action === "createAccount") members.account_id = members.id;
  if (members.account_type) delete members.account_id; // an address may lead to a special account
  if (members.account_id) members.record_id = members.account_id;
  if (action === "assignExternalPaymentAddress") members.epm_address_id = first?.id ?? members[0]?.id;
  if (action === "transferToExternalPayment") members.epm_transaction_id = members.id;
  if (action === "simulateDirectDebit") members.returned_epm_transaction_id = members.epm_transaction_id;
  if (/^[0-9]+$/.test(members.pan)) members.card_pan = members.pan; // what is masked or encrypted fits nowhere
  if (/^[0-9]+$/.test(members.cvc2)) members.card_cvc2 = members.cvc2;
  if (members.expiration?.year) {
    members.card_expiration_year = members.expiration.year;
    members.card_expiration_month = members.expiration.month;
  }
  return members;
}

export function cardsParty(place, form) {
  const kinds = new Map(); // whether a remembered value was a number
  const partsOf = (held) => Object.fromEntries(CREDENTIAL.map((name) => [name, held?.[name] ?? name.toUpperCase()]));

  return {
    name: "cards",
    keptAs: "causeway-card-credentials",
    fields: Object.fromEntries(CREDENTIAL.map((name) => [name, document.getElementById(name.replaceAll("_", "-"))])),
    replaceable: [],
    hidden: new Set(CREDENTIAL),
    isSecret: () => false,
    kindOf: (name) => (NAMED.includes(name) ? name : undefined),
    given: () => null,
    isComplete: () => true,
    needs: () => "A credential of a programme manager",

    lacking: (operation, held) => (
      held ? "" : "Nothing was sent: enter the three parts of a credential at the top of this page, and lock them."
    ),

    // Whether the service knows the credential: it looks at that before it looks for an action.
    async learn(service, held) {
      if (!held) {
        return { sentence: "Enter the three parts of a credential and lock them: every request then carries them. They stay "
          + "in this browser tab." };
      }
      const headers = { "Content-Type": "application/json" };
      let body;
      try {
        const text = JSON.stringify({ ...partsOf(held), action: "" });
        const answer = await fetch(`${service}/api`, { method: "POST", headers, credentials: "omit", body: text });
        body = await answer.json();
      } catch {
        return { sentence: "Locked. The service did not answer, so it is not known whether the credential is valid." };
      }
      if (body.status_code === 1101) return { isRefused: true, sentence: `This credential will be refused. The service says: “${body.message}”` };
      return { sentence: `Locked. Access key ${held.access_key} · every request carries the credential` };
    },

    headers: () => ({}),
    body: (body, held) => (isObject(body) ? { ...partsOf(held), ...body, ...partsOf(held) } : body),
    facts: () => ({}),
    parameter: () => undefined,
    examples: (examples) => examples,

    // An example without what is locked, for what there is, and a request of its own.
    example(body, facts, memory) {
      const made = Object.fromEntries(Object.entries(body).filter(([name]) => !CREDENTIAL.includes(name)));
      made.request_reference_id = crypto.randomUUID();
      if ("rule_code" in made) made.rule_code = crypto.randomUUID();
      for (const name of NAMED) {
        const known = memory.latest(name);
        if (name in made && known !== undefined) made[name] = typeof made[name] === "number" && kinds.get(known) !== "string" ? new Exact(known) : known;
      }
      return made;
    },

    // The members of a body that the next request must have anew.
    renewed: (body) => (isObject(body) && body.request_reference_id ? { request_reference_id: crypto.randomUUID() } : null),

    learnFrom({ operation, body }, memory) {
      if (!isObject(body) || body.status !== "success") return;
      const members = membersOf(operation.id, body);
      for (const name of NAMED) {
        const value = members[name];
        if (value === undefined || value === null || isObject(value) || Array.isArray(value)) continue;
        kinds.set(String(value), typeof value);
        memory.add(name, value, "", PASSING.has(name));
      }
    },

    steps: () => [],
    words: () => "",
  };
}
