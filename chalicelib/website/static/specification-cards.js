// What programme managers call: one address for many actions, each shown as an operation of its own. The credential's
// three parts are put into every body that is sent.

const CREDENTIAL = ["access_key", "access_api_id", "access_api_key"];

// What answers have named is filled into the examples of other actions.
const NAMED = [
  "holder_id", "account_id", "card_id", "card_request_id", "auth_request_id", "validation_value",
  "card_pan", "card_cvc2", "card_expiration_year", "card_expiration_month",
  "record_id", "epm_address_id", "epm_transaction_id", "returned_epm_transaction_id", "epm_mandate_id",
];
const known = {};

function learnFrom(action, { id, data }) {
  const members = { ...data };
  if (action === "createHolder") members.holder_id = id;
  if (action === "createAccount") members.account_id = members.id;
  if (members.account_type) delete members.account_id; // an address may lead to a special account
  if (members.account_id) members.record_id = members.account_id;
  if (action === "assignExternalPaymentAddress") members.epm_address_id = data[0].id;
  if (action === "transferToExternalPayment") members.epm_transaction_id = members.id;
  if (action === "simulateDirectDebit") members.returned_epm_transaction_id = members.epm_transaction_id;
  if (/^[0-9]+$/.test(members.pan)) members.card_pan = members.pan; // what is masked or encrypted fits nowhere
  if (/^[0-9]+$/.test(members.cvc2)) members.card_cvc2 = members.cvc2;
  if (Number.isInteger(members.expiration?.year)) {
    members.card_expiration_year = members.expiration.year;
    members.card_expiration_month = members.expiration.month;
  }
  for (const name of NAMED) {
    if (members[name] !== undefined) known[name] = members[name];
  }
}

// An example without what is locked, for what there is, and a request of its own.
function exampleOf(body) {
  const made = Object.fromEntries(Object.entries(body).filter(([name]) => !CREDENTIAL.includes(name)));
  made.request_reference_id = crypto.randomUUID();
  if ("rule_code" in made) made.rule_code = crypto.randomUUID();
  for (const name of NAMED) {
    if (name in made && name in known) made[name] = known[name];
  }
  return made;
}

function some(examples, names) {
  return Object.fromEntries(names.map((name) => [name, examples[name]]));
}

// One action as an operation of its own: its address is the same, so its name stands in the path's fragment.
function operationOf(action, schema, operation, response) {
  const asked = operation.requestBody.content["application/json"];
  const answers = operation.responses["200"].content["application/json"].examples;
  const names = Object.keys(asked.examples).filter((name) => name === action || name.startsWith(`${action}_`));
  const examples = structuredClone(some(asked.examples, names));
  for (const example of Object.values(examples)) example.value = exampleOf(example.value);
  const errors = Object.keys(answers).filter((name) => name.startsWith("error_"));
  return {
    operationId: action,
    tags: [schema["x-group"]],
    summary: asked.examples[action].summary,
    description: schema.description,
    requestBody: { required: true, content: { "application/json": {
      schema: { $ref: asked.schema.discriminator.mapping[action] },
      examples,
    } } },
    responses: { 200: {
      description: "Success, or an error",
      content: { "application/json": {
        schema: { anyOf: [{ $ref: response }, { $ref: "#/components/schemas/ErrorResponse" }] },
        examples: some(answers, [action, ...errors]),
      } },
    } },
  };
}

function examplesOf(operation) {
  return operation.requestBody.content["application/json"].examples;
}

// A body that was offered becomes the one that is offered now; one that somebody has changed gets its reference only.
function rewritten(text, before, after) {
  for (const [name, { value }] of Object.entries(before)) {
    if (text === JSON.stringify(value, null, 2)) return JSON.stringify(after[name].value, null, 2);
    if (text.includes(value.request_reference_id)) {
      return text.replace(value.request_reference_id, after[name].value.request_reference_id);
    }
  }
  return text;
}

const party = {
  keptAs: "causeway-card-credentials",
  fields: Object.fromEntries(CREDENTIAL.map((name) => [name, document.getElementById(name.replaceAll("_", "-"))])),
  replaceable: [],

  given: () => null,

  lacking(operation, held) {
    return held ? "" : "Nothing was sent: enter the three parts of a credential at the top of this page, and lock them.";
  },

  // Whether the service knows the credential: it looks at that before it looks for an action.
  async learn(held) {
    if (!held) {
      return { sentence: "Enter the three parts of a credential and lock them: every request then carries them. They stay "
        + "in this browser tab." };
    }
    const parts = Object.fromEntries(CREDENTIAL.map((name) => [name, held[name]]));
    const headers = { "Content-Type": "application/json" };
    let body;
    try {
      const answer = await fetch(`${service}/api`, {
        method: "POST", headers, credentials: "omit", body: JSON.stringify({ ...parts, action: "" }),
      });
      body = await answer.json();
    } catch {
      return { sentence: "Locked. The service did not answer, so nobody knows whether the credential is good." };
    }
    if (body.status_code === 1101) return { sentence: `This credential will be refused. The service says: “${body.message}”` };
    return { sentence: "Locked. Every request carries the credential; what answers name is filled into other examples." };
  },

  prepare(made) {
    const { isSandbox } = place.dataset;
    const paths = {};
    for (const [path, { post }] of Object.entries(made.paths)) {
      if (post["x-outside-prod-only"] && !isSandbox) continue;
      const { mapping } = post.requestBody.content["application/json"].schema.discriminator;
      for (const [action, reference] of Object.entries(mapping)) {
        const schema = made.components.schemas[reference.split("/").at(-1)];
        const response = reference.replace(/Request$/, "Response");
        paths[`${path}#${action}`] = { post: operationOf(action, schema, post, response) };
        delete schema.description; // which stands above
      }
    }
    for (const { properties } of Object.values(made.components.schemas)) {
      for (const member of Object.values(properties ?? {})) {
        if (member.pattern?.includes("\\u0000")) delete member.pattern; // what can be printed: nobody can read it
      }
    }
    made.paths = paths;
    made.tags = [];
  },

  send(request) {
    const [address] = request.url.split("#");
    const body = typeof request.body === "string" ? parsed(request.body) : request.body;
    const parts = Object.fromEntries(CREDENTIAL.map((name) => [name, held?.[name]]));
    request.url = address;
    if (body && typeof body === "object") request.body = JSON.stringify({ ...parts, ...body, ...parts }, null, 2);
    return request;
  },

  // The next request is one of its own, and may name what this one has made.
  answered({ oas3Selectors, oas3Actions }, [path], response) {
    const body = parsed(response.text);
    if (body?.status === "success") learnFrom(path.split("#").at(-1), body);
    const before = shown.paths;
    renew();
    for (const [each, { post }] of Object.entries(shown.paths)) {
      const text = oas3Selectors.requestBodyValue(each, "post");
      const value = text && rewritten(text, examplesOf(before[each].post), examplesOf(post));
      if (value && value !== text) oas3Actions.setRequestBodyValue({ value, pathMethod: [each, "post"] });
    }
  },

  onward: () => null,
  authorize() {},
};
