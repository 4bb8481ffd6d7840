// What TPPs call: a Client ID, perhaps with a secret, and an access token, and values that are good for the consent
// behind them.

import { isObject } from "./explorer-exact.js";
import { stepsOfTpp } from "./explorer-steps.js";
import { wordsOf } from "./explorer-words.js";

const KINDS = {
  account_id: "account_id", iban: "iban", sender_iban: "iban", payment_id: "payment_id", request_id: "request_id",
  bic: "bic", token: "token", refresh_token: "refresh_token", request_uri: "request_uri", after: "after", page_key: "page_key",
};
const SECRETS = ["client_secret"];
const FROM_THE_CONSENT = ["account_id", "iban"];
const FROM_ANSWERS = ["payment_id", "request_id", "token", "refresh_token"];

// HTTP Basic of a client that has a secret.
function basic({ client, secret }) {
  return `Basic ${btoa(`${encodeURIComponent(client)}:${encodeURIComponent(secret)}`)}`;
}

function dayOf(time) {
  return new Date(time).toLocaleDateString("en-GB", { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
}

export function tppParty(place, form) {
  const field = (id) => document.getElementById(id);
  const { firstScopes, paymentCallback } = place.dataset;
  const optionOf = (held) => [...form.querySelectorAll("option")].find((each) => each.value === held?.client);

  return {
    name: "tpp",
    keptAs: "causeway-credentials",
    fields: { client: field("client-id"), secret: field("client-secret"), token: field("access-token") },
    replaceable: ["secret", "token"],
    hidden: new Set(),
    isSecret: (name) => SECRETS.includes(name),
    kindOf: (name) => KINDS[name],

    given({ dataset }, kept) {
      const { clientId: client, accessToken: token } = dataset;
      if (!client) return null;
      return { ...(kept?.client === client ? kept : {}), client, token };
    },

    // Whether nothing is missing for the calls of a consent.
    isComplete: (held) => Boolean(held.token),

    // A sentence on what an operation needs and does not have; empty if it can be called.
    lacking(operation, held, values) {
      const ways = operation.security.map(Object.keys);
      const needsToken = ways.length > 0 && ways.every((way) => way.includes("bearer") || way.includes("dpop"));
      const canDoWithout = ways.length === 0 || ways.some((way) => way.length === 0);
      if (!canDoWithout && !held) return "Nothing was sent: enter a Client ID at the top of this page, and lock it.";
      if (needsToken && !held.token) {
        return "Nothing was sent: this call is for a person's data, so enter an access token at the top of this page. "
          + "The Authorize page gets one.";
      }
      const missing = Object.keys(values.path).find((name) => !values.path[name]);
      return missing ? `Nothing was sent: the path needs a value for ${missing}.` : "";
    },

    needs(operation) {
      const ways = operation.security.map(Object.keys);
      if (!ways.length) return "No credentials";
      if (ways.every((way) => way.includes("bearer") || way.includes("dpop"))) return "Client ID and access token";
      return ways.some((way) => way.includes("bearer")) ? "Client ID; an access token unless it is about a direct payment" : "Client ID, and the secret if the client has one";
    },

    // The consent of the access token, and a sentence on how the credentials stand.
    async learn(service, held) {
      if (!held) {
        return { sentence: "Enter a Client ID and lock it: every call then carries it."
          + (form.dataset.user ? " Your active clients are suggested." : " Sign in to have your own suggested.") };
      }
      const proof = held.token ? `Bearer ${held.token}` : held.secret && basic(held);
      const headers = { "X-Api-Key": held.client, ...(proof && { Authorization: proof }) };
      const address = held.token ? "/tpp/consent" : "/tpp/banks?limit=1";
      let answer, body;
      try {
        answer = await fetch(`${service}${address}`, { headers, credentials: "omit" });
        body = await answer.json();
      } catch {
        return { sentence: "Locked. The service did not answer, so it is not known whether the credentials are valid." };
      }
      if (!answer.ok) return { isRefused: true, sentence: `These credentials will be refused. The service says: “${body.details ?? body.title}”` };
      const client = `Locked. Client ${optionOf(held)?.label ?? held.client}${held.secret ? " with its secret" : ""}`;
      if (!held.token) return { sentence: `${client}. Calls for a person's data carry an access token as well.` };
      return {
        consent: body,
        sentence: `${client} · access token ${held.token.slice(0, 8)}… · ${held.token === form.dataset.accessToken ? form.dataset.bankName : body.bic}, valid until ${dayOf(body.valid_until)}`,
        more: `Permissions: ${body.scopes.join(", ")}. The client secret and the access token can be replaced here.`,
      };
    },

    // A direct payment identifies its bank, and has no bearer token. Without a bearer token, the client sends its secret.
    headers(operation, held, values) {
      if (!operation.security.length) return {};
      const client = { "X-Api-Key": held?.client ?? "CLIENT_ID" };
      const needsBearer = operation.security.every((way) => "bearer" in way || "dpop" in way);
      const takesBearer = operation.security.some((way) => "bearer" in way) && !values.query.bic;
      if (needsBearer || (takesBearer && held?.token)) return { ...client, Authorization: `Bearer ${held?.token || "ACCESS_TOKEN"}` };
      return held?.secret ? { ...client, Authorization: basic(held) } : client;
    },

    body: (body) => body,

    // What examples can say of the PSU's bank and accounts.
    facts({ consent }, held) {
      const callback = optionOf(held)?.dataset.paymentCallback;
      const client = held?.client;
      if (!consent) return { client, callback, parameters: {} };
      const version = firstScopes.split(" ").includes(consent.scopes[0]) ? 1 : 2;
      const [iban] = consent.ibans;
      const [account] = consent.account_ids;
      const parameters = version === 1 && iban ? { iban } : account ? { account_id: account } : {};
      const unfit = [`version_${3 - version}`, /^.{4}GB/.test(consent.bic) ? "euros" : "pounds"];
      return { client, unfit, consent, bic: consent.bic, iban, account, callback, parameters };
    },

    // The value that a parameter begins with.
    parameter({ name, required, example, in: where }, facts, memory, { id }) {
      if (name === "Idempotency-Key") return crypto.randomUUID();
      if (id === "oauth_authorize") return { client_id: facts.client ?? example, response_type: "code", bic: facts.bic ?? example, scope: facts.consent?.scopes.join(" ") ?? example }[name];
      if (where === "header") return undefined;
      if (FROM_THE_CONSENT.includes(name)) return required ? facts.account ?? memory.latest(name) : facts.parameters[name];
      if (FROM_ANSWERS.includes(name)) return required || name === "payment_id" ? memory.latest(name) : undefined;
      if (!required) return undefined;
      return name === "bic" ? facts.bic ?? memory.latest("bic") ?? example : example;
    },

    // The examples that are good for the bank's version and country.
    examples: (examples, { unfit = [] }) => examples.filter(({ name }) => !unfit.includes(name)),

    // An example's body names accounts of the consent, or none where the PSU can choose one at the bank.
    example(body, facts, memory) {
      const made = { ...body };
      const { bic, iban, callback } = facts;
      if (bic && "bic" in made) made.bic = bic;
      if ("client_id" in made) made.client_id = facts.client;
      if (facts.consent && made.consent_type !== "one_time") {
        if ("scopes" in made) made.scopes = facts.consent.scopes;
        if ("response_type" in made) made.scope = facts.consent.scopes.join(" ");
      }
      if ("callback_url" in made) {
        const bank = bic ?? made.bic;
        made.callback_url = callback ?? `${paymentCallback}${bank ? `?bic=${bank}` : ""}`;
      }
      for (const name of ["debtor", "sender_iban", "debtor_account", "account"]) {
        if (name in made && iban) made[name] = name === "sender_iban" ? iban : { iban };
        else if (name !== "account" && !("payments" in made)) delete made[name];
      }
      if ("bic" in made) delete made.debtor; // in a direct payment, banks of version 1 do not take it
      delete made.debtor_name;
      delete made.state; // which is made when it is absent, and may not be used twice
      if ("refresh_token" in made) made.refresh_token = memory.latest("refresh_token") ?? made.refresh_token;
      if ("token" in made) made.token = memory.latest("token") ?? form.elements["access-token"]?.value ?? made.token;
      return made;
    },

    renewed: () => null,
    steps: (origin, answer, { service }) => stepsOfTpp(origin, answer, service),
    words: (origin, answer, memory) => wordsOf(origin, answer, new Map(memory.values("account_id").map(({ value, label }) => [value, label]))),

    // Remembers what an answer names.
    learnFrom(answer, memory) {
      const walk = (part, parent = {}) => {
        if (Array.isArray(part)) part.forEach((each) => walk(each, part));
        if (!isObject(part)) return;
        const label = [part.name, part.iban].filter((each) => typeof each === "string").join(" ");
        for (const [name, value] of Object.entries(part)) {
          if (isObject(value) || Array.isArray(value)) walk(value, part);
          const several = name === "ibans" ? "iban" : name === "account_ids" ? "account_id" : null;
          if (several && Array.isArray(value)) value.forEach((each) => memory.add(several, each));
          if (value === null || typeof value === "object" && !("text" in value)) continue;
          const kind = name === "resource_id" || (name === "id" && parent === answer.body?.accounts) ? "account_id" : KINDS[name];
          if (kind && value !== "") memory.add(kind, value, kind === "account_id" ? label : part.creditor_name ?? "");
          if (name === "access_token" || name === "refresh_token") memory.add("token", value, name.replace("_", " "));
        }
      };
      walk(answer.body);
    },
  };
}
