// The API specification screens: the operations of a screen in Swagger UI, with the credentials of this browser tab.
// What differs between those who call stands in `party`, which another script has made before.

const place = document.getElementById("specification");
const form = document.getElementById("credentials");
const button = form.querySelector("button");
const state = document.getElementById("credentials-state");
const service = `${location.origin}${place.dataset.path}`;

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// -- Credentials: entered once, and kept for this tab and this user until Logout or the session's end

let held = null;

function kept() {
  const found = JSON.parse(sessionStorage.getItem(party.keptAs));
  if (found && found.user === form.dataset.user) return found;
  sessionStorage.removeItem(party.keptAs);
  return null;
}

function hold(values) {
  held = { ...values, user: form.dataset.user };
  sessionStorage.setItem(party.keptAs, JSON.stringify(held));
  for (const [name, field] of Object.entries(party.fields)) {
    field.value = held[name] ?? "";
    field.readOnly = !party.replaceable.includes(name);
  }
  button.textContent = "Logout";
  button.classList.add("quiet");
}

function release() {
  held = null;
  sessionStorage.removeItem(party.keptAs);
  history.replaceState(null, "", location.pathname);
  form.reset();
  for (const field of Object.values(party.fields)) field.readOnly = false;
  button.textContent = "Lock";
  button.classList.remove("quiet");
}

function entered() {
  return Object.fromEntries(Object.entries(party.fields).map(([name, field]) => [name, field.value.trim()]));
}

// -- The document: the operations of this screen

function prepared() {
  const made = structuredClone(whole);
  delete made.webhooks;
  made.servers = [{ url: service }];
  party.prepare(made, learned, held);
  return made;
}

// -- Swagger UI: nothing but the operations, since credentials and introduction have their place on the page

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
    // A fragment tells what the path leads to: one reads the fragment, and copies the path.
    OperationSummaryPath: (Path) => ({ operationProps, ...props }) => React.createElement(
      Path,
      { ...props, operationProps: operationProps.update("path", (path) => path.split("#").at(-1)) },
    ),
    CopyToClipboardBtn: (Copy) => ({ textToCopy }) => React.createElement(Copy, { textToCopy: textToCopy.split("#")[0] }),
    OperationTag: () => ({ tag, children }) => place.dataset.tag ? children : React.createElement(
      "section",
      null,
      React.createElement("h2", null, tag),
      children,
    ),
    liveResponse: (LiveResponse) => (props) => React.createElement(
      React.Fragment,
      null,
      party.onward(React, props.response.get("text")),
      React.createElement(LiveResponse, props),
    ),
    execute: (Execute, system) => (props) => {
      const [wasPressed, press] = React.useState(false);
      const operation = system.specSelectors.operationWithMeta(props.path, props.method).toJS();
      const missing = party.lacking(operation, held);
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
          const done = set(path, method, response);
          party.answered(system, [path, method], response);
          return done;
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
  for (const choice of root.querySelectorAll("tr[data-param-name] select:not([aria-label])")) {
    choice.ariaLabel = choice.closest("tr").dataset.paramName;
  }
  for (const text of root.querySelectorAll("pre:not([tabindex])")) text.tabIndex = 0;
}

let whole = null;
let learned = {};
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
    requestInterceptor: (request) => party.send(request),
    onComplete: () => {
      party.authorize(ui, held);
      place.replaceChildren(root);
    },
  });
}

// The same operations, with examples that are good from now on.
function renew() {
  shown = prepared();
  update();
}

function update() {
  ui.specActions.updateSpec(JSON.stringify(shown));
  party.authorize(ui, held);
}

// -- The page

let latest = 0;

// What the page says and suggests, after the credentials have changed.
async function refresh() {
  const mine = ++latest;
  try {
    const [found, said] = await Promise.all([
      whole ?? fetch(place.dataset.document).then((answer) => answer.json()),
      party.learn(held),
    ]);
    if (mine !== latest) return;
    whole = found;
    learned = said;
    shown = prepared();
    state.textContent = said.sentence;
  } catch {
    state.textContent = "The OpenAPI document could not be loaded: load this page again to try calls out.";
    return;
  }
  if (ui) update();
  else show();
}

function take() {
  hold(entered());
  if (ui) party.authorize(ui, held);
  refresh();
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (!held) {
    take();
    return;
  }
  release();
  ui = null;
  refresh();
});

for (const name of party.replaceable) {
  party.fields[name].addEventListener("change", () => {
    if (held) take();
  });
}

const given = party.given() ?? kept();
form.querySelector("fieldset").disabled = false;
if (given) hold(given);
refresh();
