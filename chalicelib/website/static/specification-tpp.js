// What TPPs call: a Client ID, perhaps with a secret, and an access token, and examples that are good for the consent
// behind them.

const clientId = document.getElementById("client-id");
const clientSecret = document.getElementById("client-secret");
const accessToken = document.getElementById("access-token");

const NAMES_SOMETHING = ["account_id", "iban", "payment_id", "request_id"];
const suggestedKeys = new Set();

function suggestKey() {
  const key = crypto.randomUUID();
  suggestedKeys.add(key);
  return key;
}

// A payment that was executed with a suggested key gets another one, so that the next is a payment of its own.
function renewKey({ specSelectors, specActions }, way) {
  const parameters = specSelectors.specJsonWithResolvedSubtrees().getIn(["paths", ...way, "parameters"]);
  const parameter = parameters?.find((each) => each.get("name") === "Idempotency-Key");
  if (!parameter || !suggestedKeys.has(specSelectors.parameterWithMetaByIdentity(way, parameter).get("value"))) return;
  specActions.changeParamByIdentity(way, parameter, suggestKey(), false);
}

// What examples can say of the PSU's bank and accounts.
function known(consent, client) {
  const option = [...form.querySelectorAll("option")].find((each) => each.value === client);
  const callback = option?.dataset.paymentCallback;
  if (!consent) return { callback, parameters: {} };
  const version = place.dataset.firstScopes.split(" ").includes(consent.scopes[0]) ? 1 : 2;
  const [iban] = consent.ibans;
  const [account] = consent.account_ids;
  const parameters = version === 1 && iban ? { iban } : account ? { account_id: account } : {};
  return { version, bic: consent.bic, iban, callback, parameters };
}

function prepareOperation(operation, facts) {
  for (const parameter of operation.parameters ?? []) {
    const isKnown = parameter.name in facts.parameters;
    if (isKnown || !parameter.required || NAMES_SOMETHING.includes(parameter.name)) {
      delete parameter.examples;
      parameter.example = facts.parameters[parameter.name];
    }
  }
  const { examples } = operation.requestBody?.content["application/json"] ?? {};
  for (const [name, { value }] of Object.entries(examples ?? {})) {
    if (facts.version && name === `version_${3 - facts.version}`) delete examples[name];
    else prepareBody(value, facts);
  }
}

// An example names accounts of the consent, or none where the PSU can choose one at the bank.
function prepareBody(body, { bic, iban, callback }) {
  if ("callback_url" in body) {
    if (body.bic && bic) body.bic = bic;
    const bank = bic ?? body.bic;
    body.callback_url = callback ?? `${place.dataset.paymentCallback}${bank ? `?bic=${bank}` : ""}`;
  }
  for (const name of ["sender_iban", "debtor_account", "account"]) {
    if (name in body && iban) body[name] = name === "sender_iban" ? iban : { iban };
    else if (name !== "account" && !("payments" in body)) delete body[name];
  }
  delete body.debtor_name;
}

// Where a person goes next, as a link: addresses in answers are only text.
const ONWARD = {
  redirect_url: "Go to the bank and authorize",
  confirmation_url: "Go to the bank and confirm the payment",
};

function onward(React, text) {
  const answer = parsed(text);
  const [member, label] = Object.entries(ONWARD).find(([name]) => /^https?:/.test(answer?.[name])) ?? [];
  if (!member) return null;
  const link = { className: "button slim", href: answer[member], target: "_blank", rel: "noopener noreferrer" };
  return React.createElement("p", { className: "onward" }, React.createElement("a", link, `${label} (new tab)`));
}

// HTTP Basic of a client that has a secret.
function basic({ client, secret }) {
  return `Basic ${btoa(`${encodeURIComponent(client)}:${encodeURIComponent(secret)}`)}`;
}

const party = {
  keptAs: "causeway-credentials",
  fields: { client: clientId, secret: clientSecret, token: accessToken },
  replaceable: ["secret", "token"],

  given() {
    const { clientId: client, accessToken: token } = form.dataset;
    const before = kept();
    return client ? { client, token, secret: before?.client === client ? before.secret : "" } : null;
  },

  // What an operation wants and is not there, in a sentence; nothing if it can be called.
  lacking(operation, held) {
    const ways = (operation.security ?? []).map(Object.keys);
    const needsToken = ways.length > 0 && ways.every((way) => way.includes("bearer") || way.includes("dpop"));
    if (ways.length > 0 && !held) return "Nothing was sent: enter a Client ID at the top of this page, and lock it.";
    if (needsToken && !held.token) {
      return "Nothing was sent: this call is for a person's data, so enter an access token at the top of this page. "
        + "The Authorize page gets one.";
    }
    return "";
  },

  // The consent of the access token, and a sentence on how the credentials stand.
  async learn(held) {
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
      return { sentence: "Locked. The service did not answer, so nobody knows whether the credentials are good." };
    }
    if (!answer.ok) return { sentence: `These credentials will be refused. The service says: “${body.details ?? body.title}”` };
    if (!held.token) return { sentence: "Locked. Calls for a person's data carry an access token as well." };
    const until = body.valid_until.slice(0, 10);
    return { consent: body, sentence: `Locked. A consent at ${body.bic} until ${until}: ${body.scopes.join(", ")}.` };
  },

  // The operations of this screen, with examples that are good for the credentials.
  prepare(made, { consent }, held) {
    const { tag } = place.dataset;
    const facts = known(consent, held?.client);
    for (const [path, operations] of Object.entries(made.paths)) {
      for (const [method, operation] of Object.entries(operations)) {
        if (!operation.tags.includes(tag)) delete operations[method];
        else prepareOperation(operation, facts);
      }
      if (Object.keys(operations).length === 0) delete made.paths[path];
    }
    made.tags = made.tags.filter(({ name }) => name === tag);
    for (const parameter of Object.values(made.components.parameters)) {
      parameter.example = parameter.name === "Idempotency-Key" ? suggestKey() : undefined;
      if (parameter.schema.anyOf) parameter.schema = { type: "string" }; // which Swagger UI would show as a riddle
    }
  },

  // A direct payment is asked for by its bank, and without a bearer. Where there is no bearer, a client shows its secret.
  send(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname.endsWith("/payment_status") && searchParams.has("bic")) delete request.headers.Authorization;
    if (held?.secret && request.headers["X-Api-Key"] && !request.headers.Authorization) {
      request.headers.Authorization = basic(held);
    }
    request.credentials = "omit"; // no dialog of the browser asks for what a challenge names
    return request;
  },

  answered: renewKey,

  onward,

  // Calls carry at once what is locked, and no longer what was.
  authorize(ui, held) {
    if (ui.authSelectors.authorized().size > 0) ui.authActions.logout(["clientId", "bearer"]);
    if (!held) return;
    ui.preauthorizeApiKey("clientId", held.client);
    if (held.token) ui.preauthorizeApiKey("bearer", held.token);
  },
};
