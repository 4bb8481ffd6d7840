// The API specification screens: the operations of a screen in Swagger UI, with the credentials of this browser tab.

const place = document.getElementById("specification");
const form = document.getElementById("credentials");
const clientId = document.getElementById("client-id");
const accessToken = document.getElementById("access-token");
const button = form.querySelector("button");
const state = document.getElementById("credentials-state");
const service = `${location.origin}${place.dataset.path}`;

// -- Credentials: entered once, and kept for this tab and this user until Logout or the session's end

const KEPT_AS = "causeway-credentials";
let held = null;

function kept() {
  const found = JSON.parse(sessionStorage.getItem(KEPT_AS));
  if (found && found.user === form.dataset.user) return found;
  sessionStorage.removeItem(KEPT_AS);
  return null;
}

function hold(client, token) {
  held = { user: form.dataset.user, client, token };
  sessionStorage.setItem(KEPT_AS, JSON.stringify(held));
  clientId.value = client;
  accessToken.value = token;
  clientId.readOnly = true;
  button.textContent = "Logout";
  button.classList.add("quiet");
}

function release() {
  held = null;
  sessionStorage.removeItem(KEPT_AS);
  history.replaceState(null, "", location.pathname);
  form.reset();
  clientId.readOnly = false;
  button.textContent = "Lock";
  button.classList.remove("quiet");
}

// What an operation wants and is not there, in a sentence; nothing if it can be called.
function lacking(operation) {
  const ways = (operation.security ?? []).map(Object.keys);
  const wants = (scheme) => ways.length > 0 && ways.every((way) => way.includes(scheme));
  if (ways.length > 0 && !held) return "Nothing was sent: enter a Client ID at the top of this page, and lock it.";
  if (wants("bearer") && !held.token) {
    return "Nothing was sent: this call is for a person's data, so enter an access token at the top of this page. "
      + "The Authorize page gets one.";
  }
  return "";
}

// -- What the service says of the credentials

// The consent of the access token, and a sentence on how the credentials stand.
async function learn() {
  if (!held) {
    return { sentence: "Enter a Client ID and lock it: every call then carries it."
      + (form.dataset.user ? " Your active clients are suggested." : " Sign in to have your own suggested.") };
  }
  const headers = { "X-Api-Key": held.client, ...(held.token && { Authorization: `Bearer ${held.token}` }) };
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
}

// -- The document: the operations of this screen, with examples that are good for the credentials

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
function known(consent) {
  const option = [...form.querySelectorAll("option")].find((each) => each.value === held?.client);
  const callback = option?.dataset.paymentCallback;
  if (!consent) return { callback, parameters: {} };
  const version = place.dataset.firstScopes.split(" ").includes(consent.scopes[0]) ? 1 : 2;
  const [iban] = consent.ibans;
  const [account] = consent.account_ids;
  const parameters = version === 1 && iban ? { iban } : account ? { account_id: account } : {};
  return { version, bic: consent.bic, iban, callback, parameters };
}

function prepared(whole, facts) {
  const made = structuredClone(whole);
  const { tag } = place.dataset;
  delete made.webhooks;
  made.servers = [{ url: service }];
  for (const [path, operations] of Object.entries(made.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      if (tag && !operation.tags.includes(tag)) delete operations[method];
      else prepare(operation, facts);
    }
    if (Object.keys(operations).length === 0) delete made.paths[path];
  }
  made.tags = (made.tags ?? []).filter(({ name }) => !tag || name === tag);
  for (const parameter of Object.values(made.components.parameters ?? {})) {
    parameter.example = parameter.name === "Idempotency-Key" ? suggestKey() : undefined;
    if (parameter.schema.anyOf) parameter.schema = { type: "string" }; // which Swagger UI would show as a riddle
  }
  return made;
}

function prepare(operation, facts) {
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

// -- Swagger UI: nothing but the operations, since credentials and introduction have their place on the page

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

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// A direct payment is asked for by its bank, and without a bearer.
function addressed(request) {
  const { pathname, searchParams } = new URL(request.url);
  if (pathname.endsWith("/payment_status") && searchParams.has("bic")) delete request.headers.Authorization;
  return request;
}

const plugin = ({ React }) => ({
  components: {
    OperationsLayout: ({ getComponent }) => React.createElement(
      "div",
      { className: "swagger-ui" },
      React.createElement(getComponent("SvgAssets")),
      React.createElement(getComponent("errors", true)),
      React.createElement(getComponent("operations", true)),
    ),
  },
  wrapComponents: {
    authorizeOperationBtn: () => () => null,
    DeepLink: () => ({ text }) => React.createElement("span", null, text), // a link inside a button is neither
    OperationTag: (Tag) => (props) => place.dataset.tag ? props.children : React.createElement(Tag, props),
    liveResponse: (LiveResponse) => (props) => React.createElement(
      React.Fragment,
      null,
      onward(React, props.response.get("text")),
      React.createElement(LiveResponse, props),
    ),
    execute: (Execute, system) => (props) => {
      const [wasPressed, press] = React.useState(false);
      const operation = system.specSelectors.operationWithMeta(props.path, props.method).toJS();
      const missing = lacking(operation);
      const check = (event) => {
        press(true);
        if (missing) event.stopPropagation();
      };
      return React.createElement(
        React.Fragment,
        null,
        React.createElement("div", { onClickCapture: check }, React.createElement(Execute, props)),
        wasPressed && missing && React.createElement("p", { className: "alert", role: "alert" }, missing),
      );
    },
  },
  statePlugins: {
    spec: {
      wrapSelectors: {
        // A browser is sent to the front door; a script that follows would come to the bank's page, and may not.
        allowTryItOutFor: () => (_, path, method) => !shown.paths[path]?.[method]?.responses["303"],
      },
      wrapActions: {
        setResponse: (set, system) => (path, method, response) => {
          renewKey(system, [path, method]);
          return set(path, method, response);
        },
      },
    },
  },
});

// What Swagger UI leaves out for those who do not see the page, or have no mouse.
const UNNAMED = {
  "select.examples-select-element": "Example",
  "textarea.body-param__text": "Request body",
  "button.json-schema-2020-12-accordion:has(> .json-schema-2020-12-accordion__children:empty)": "Members",
};

function complete(root) {
  for (const [selector, name] of Object.entries(UNNAMED)) {
    for (const control of root.querySelectorAll(`${selector}:not([aria-label])`)) control.ariaLabel = name;
  }
  for (const text of root.querySelectorAll("pre:not([tabindex])")) text.tabIndex = 0;
}

let whole = null;
let shown = null;
let ui = null;

// Swagger UI from the beginning: what was answered to other credentials is gone.
function show() {
  const root = document.createElement("div");
  new MutationObserver(() => complete(root)).observe(root, { childList: true, subtree: true });
  ui = SwaggerUIBundle({
    domNode: root,
    spec: shown,
    plugins: [plugin],
    layout: "OperationsLayout",
    validatorUrl: null,
    deepLinking: true,
    displayRequestDuration: true,
    syntaxHighlight: { activated: false },
    requestInterceptor: addressed,
    onComplete: () => {
      authorize();
      place.replaceChildren(root);
    },
  });
}

function update() {
  ui.specActions.updateSpec(JSON.stringify(shown));
  authorize();
}

// Calls carry at once what is locked, and no longer what was.
function authorize() {
  if (ui.authSelectors.authorized().size > 0) ui.authActions.logout(["clientId", "bearer"]);
  if (!held) return;
  ui.preauthorizeApiKey("clientId", held.client);
  if (held.token) ui.preauthorizeApiKey("bearer", held.token);
}

// -- The page

let latest = 0;

// What the page says and suggests, after the credentials have changed.
async function refresh() {
  const mine = ++latest;
  try {
    const [found, learned] = await Promise.all([
      whole ?? fetch(place.dataset.document).then((answer) => answer.json()),
      learn(),
    ]);
    if (mine !== latest) return;
    whole = found;
    shown = prepared(whole, known(learned.consent));
    state.textContent = learned.sentence;
  } catch {
    state.textContent = "The OpenAPI document could not be loaded: load this page again to try calls out.";
    return;
  }
  if (ui) update();
  else show();
}

function take(client, token) {
  hold(client, token);
  if (ui) authorize();
  refresh();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!held) {
    take(clientId.value.trim(), accessToken.value.trim());
    return;
  }
  release();
  ui = null;
  refresh();
});

accessToken.addEventListener("change", () => {
  if (held) take(held.client, accessToken.value.trim());
});

const given = form.dataset.clientId ? { client: form.dataset.clientId, token: form.dataset.accessToken } : kept();
form.querySelector("fieldset").disabled = false;
if (given) hold(given.client, given.token);
refresh();
