"""The Chalice entry point: registers each package's routes and jobs, and nothing else."""

import gc

gc.disable()  # what is imported stays: looking for garbage among it is a tenth of a cold start

from chalicelib.application import Application  # noqa: E402
from chalicelib.bootstrap import hub  # noqa: E402
from chalicelib.cards.api.card_api import card_routes, simulator_routes  # noqa: E402
from chalicelib.jobs import JOBS  # noqa: E402
from chalicelib.openbanking.api.bank_api import bank_routes  # noqa: E402
from chalicelib.openbanking.api.logo_api import logo_routes  # noqa: E402
from chalicelib.openbanking.api.oauth_api import oauth_routes  # noqa: E402
from chalicelib.openbanking.api.tpp_api import tpp_routes  # noqa: E402
from chalicelib.website.routes import sandbox_routes, website_routes  # noqa: E402

app = Application(app_name="causeway", configure_logs=False)

for routes in (tpp_routes, oauth_routes, bank_routes, logo_routes):
    app.register_blueprint(routes.bind(lambda: hub().openbanking))
app.register_blueprint(website_routes.bind(lambda: hub().website))
app.register_blueprint(card_routes.bind(lambda: hub().cards))
for jobs in JOBS:
    app.register_blueprint(jobs)

if hub().settings.is_sandbox:
    from chalicelib.demo_bank.routes import demo_bank_routes

    app.register_blueprint(demo_bank_routes.bind(hub))
    app.register_blueprint(simulator_routes.bind(lambda: hub().cards))
    app.register_blueprint(sandbox_routes.bind(lambda: hub().website))

if hub().settings.is_local:
    from chalicelib.sandbox_clock.routes import clock_routes

    app.register_blueprint(clock_routes.bind(lambda: hub().sandbox_clock))

gc.freeze()
gc.set_threshold(50_000, 20, 20)  # requests leave few cycles, and a bulk order makes thousands of objects
gc.enable()
