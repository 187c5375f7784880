"""Settings, all from the environment. The defaults are the embedded set-up: one machine, one folder."""

from datetime import timedelta
from pathlib import Path

from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured

from config import env
from config.embedded import broker_url

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(env.text("TERTIUM_VAR", str(BASE_DIR / "var"))).resolve()

DEBUG = env.flag("DEBUG", False)
PRODUCTION = env.flag("TERTIUM_PRODUCTION", False)
if PRODUCTION and DEBUG:
    raise ImproperlyConfigured("DEBUG is True; allowed in production: False")

BEHIND_TLS_PROXY = env.flag("BEHIND_TLS_PROXY", False)
ALLOWED_HOSTS = env.hosts("ALLOWED_HOSTS", "localhost,127.0.0.1")
SHORTEST_KEY = 32
SECRET_KEY = env.secret("SECRET_KEY") or "embedded-default-for-one-machine-only"
_this_machine_only = {"localhost", "127.0.0.1", "[::1]"}.issuperset(ALLOWED_HOSTS)
# The default is public: whoever can reach the server could sign a session with it.
if (PRODUCTION or not _this_machine_only) and not env.secret("SECRET_KEY"):
    raise ImproperlyConfigured(
        "SECRET_KEY is not set; it, or SECRET_KEY_FILE, is required in production, "
        "and wherever ALLOWED_HOSTS names more than this machine"
    )

if PRODUCTION:
    env.require_said("ALLOWED_HOSTS", "the host names that people type")
    env.require_said("BEHIND_TLS_PROXY", "True behind a proxy that speaks TLS, False where this server does")
    if len(SECRET_KEY) < SHORTEST_KEY:
        raise ImproperlyConfigured(
            f"SECRET_KEY has {len(SECRET_KEY)} characters; allowed in production: at least {SHORTEST_KEY}, at random"
        )

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "axes",
    "django_otp",
    "django_otp.plugins.otp_totp",
    "django_otp.plugins.otp_static",
    "django_htmx",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "config",
    "core",
    "judges",
    "adjudication",
    "audits",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "core.sessions.SessionLimits",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "core.middleware.Problems",
    "axes.middleware.AxesMiddleware",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {
            "builtins": ["audits.templatetags.figures"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.messages.context_processors.messages",
                "core.pages.frame",
            ],
        },
    }
]

# A proxy that shows us under a path takes it off before it asks us; what we answer with has it again.
BASE_PATH = env.base_path("TERTIUM_BASE_PATH")
FORCE_SCRIPT_NAME = BASE_PATH or None

# Where messages to other programs say that we are; without it they name paths alone.
PUBLIC_URL = env.public_url("TERTIUM_PUBLIC_URL", plain_allowed=not PRODUCTION)

# Files are served from where they lie, compressed on the way by whatever stands in front: nothing has to be collected
# before the first start.
STATIC_URL = f"{BASE_PATH}/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True

CSRF_FAILURE_VIEW = "core.views.forged"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
# Cookies know no port: two installations on one machine would sign each other's people out.
SESSION_COOKIE_NAME = "tertium_session"
CSRF_COOKIE_NAME = "tertium_csrf"
SESSION_IDLE_SECONDS = 60 * env.whole_number("TERTIUM_SESSION_IDLE_MINUTES", 8 * 60)
SESSION_ABSOLUTE_SECONDS = SESSION_COOKIE_AGE = 60 * 60 * env.whole_number("TERTIUM_SESSION_HOURS", 7 * 24)
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = PRODUCTION
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = f"{BASE_PATH}/"
# In a cookie, a message would meet the next person at this browser.
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]
AUTHENTICATION_BACKENDS = ["axes.backends.AxesStandaloneBackend", "core.signin.PasswordAndCode"]
# Failures count by account, whatever the address, and by address, whatever the account. A success forgives none:
# whoever guesses could sign in as themselves in between.
AXES_LOCKOUT_PARAMETERS = ["username", "ip_address"]
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = timedelta(minutes=15)
AXES_CLIENT_IP_CALLABLE = "core.signin.client_address"
AXES_LOCKOUT_CALLABLE = "core.signin.locked_out"
AXES_DISABLE_ACCESS_LOG = True
AXES_SENSITIVE_PARAMETERS = ["username", "ip_address", "code"]
AXES_ENABLE_ADMIN = AXES_VERBOSE = False
# A wrong code is a failed attempt like a wrong password, and counted there alone.
OTP_TOTP_THROTTLE_FACTOR = OTP_STATIC_THROTTLE_FACTOR = 0
OTP_TOTP_ISSUER = "Tertium"
# Whoever signs people in instead of us, where the installation has such a service (OpenID Connect).
OIDC_ISSUER = env.issuer("OIDC_ISSUER", plain_allowed=not PRODUCTION)
OIDC_NAME = env.text("OIDC_NAME", "single sign-on")
if OIDC_ISSUER:
    env.require_said("OIDC_CLIENT_ID", "the name under which that service knows this installation")
OIDC_CLIENT_ID, OIDC_CLIENT_SECRET = env.text("OIDC_CLIENT_ID", ""), env.secret("OIDC_CLIENT_SECRET")
# Believed only where a proxy stands in front that sets it itself: anybody else can send it too.
if BEHIND_TLS_PROXY:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
SECURE_HSTS_SECONDS = 30 * 24 * 60 * 60 if PRODUCTION else 0
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
    }
}

# Every view of the API says whom it lets in; one that is none of ours lets in nobody.
REST_FRAMEWORK = {
    "DEFAULT_PERMISSION_CLASSES": ["core.api.denied.Denied"],
    "DEFAULT_SCHEMA_CLASS": "core.api.schema.Schema",
    "EXCEPTION_HANDLER": "core.api.problems.answer_for",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Tertium",
    "DESCRIPTION": "Human adjudication of changed judges and systems: the API of its pages.",
    "VERSION": "1",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "ENABLE_DJANGO_DEPLOY_CHECK": False,
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "core.api.schema.with_problems",
    ],
}
# Private networks that webhooks may reach: none, but for this machine where it serves nobody else.
WEBHOOK_NETWORKS = env.networks("TERTIUM_WEBHOOK_NETWORKS", "" if PRODUCTION else "127.0.0.0/8,::1/128")

# Requests to the API that one token, or one person, may make in a minute.
API_PER_MINUTE = env.whole_number("TERTIUM_API_PER_MINUTE", 600)

# Role -> the links on its pages, in order: what a link says, and the pages under it (what each is called, its route).
_WORK = [("My work", [("My work", "adjudication:work")]), ("Review", [("Review", "adjudication:review")])]
_LEADING = [
    ("Audits", [("Audits", "audits:list")]),
    ("New audit", [("New audit", "audits:new")]),
    ("Anchors", [("Anchors", "audits:anchor-sets")]),
    ("Calibration", [("Calibration", "audits:calibration")]),
]
_WEBHOOKS = ("Webhooks", "webhooks")
_SETTINGS = [
    ("Members", "members"),
    ("Reason codes", "adjudication:reason-codes"),
    ("Tokens", "tokens"),
    _WEBHOOKS,
    ("Retention", "audits:retention"),
]
NAVIGATION: dict[str, list[tuple[str, list[tuple[str, str]]]]] = {
    "reviewer": _WORK,
    "adjudicator": _WORK,
    "lead": [*_LEADING, ("Webhooks", [_WEBHOOKS])],
    "owner": [*_LEADING, ("Settings", _SETTINGS)],
}

# Services that give a new project what it begins with. `core` makes projects, and never imports who knows.
PROJECT_BEGINS_WITH = ["adjudication.services.reasons.reason_codes_seed"]

_database_url = env.secret("DATABASE_URL")
_redis_url = env.secret("REDIS_URL")
if not (_database_url and _redis_url):
    env.folder(VAR_DIR)
# What processes count together, such as the requests of a token.
CACHES = {"default": env.cache(_redis_url, VAR_DIR / "counts")}
DATABASES = {"default": env.database(_database_url, VAR_DIR / "tertium.sqlite3")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Bytes of one upload, all its files together.
UPLOAD_LIMIT = env.whole_number("TERTIUM_UPLOAD_LIMIT", 1_000_000_000)

LANGUAGE_CODE = "en"
USE_TZ = True
TIME_ZONE = "UTC"

# Event name -> task name. The lower storeys write events and never import the tasks that follow.
EVENT_TASKS = {
    "adjudication.item-settled": "audits.tasks.look_due",
    "audits.job-asked": "audits.tasks.job_due",
}

CELERY_BROKER_URL = _redis_url or broker_url(VAR_DIR)
BROKER_EXPECTED = bool(_redis_url)
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# The outbox is the database: a request never waits for a broker, and never fails with it.
CELERY_TASK_PUBLISH_RETRY = False
CELERY_BROKER_TRANSPORT_OPTIONS = {
    # Kombu would wait 6 s inside the request for a broker that is down; it is told to try once more, at once.
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0,
    "interval_max": 0,
    "visibility_timeout": 900,
    "socket_connect_timeout": 1,
    "socket_timeout": 5,
    "unacked_restore_interval": 2,
    "unacked_restore_throttle": 1,
}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULE = {
    "sweep-looks": {"task": "audits.tasks.looks_sweep", "schedule": 15.0},
    "clear-sessions": {"task": "core.tasks.sessions_clear", "schedule": 24 * 60 * 60.0},
    "sweep-answers": {"task": "core.tasks.answers_sweep", "schedule": 60 * 60.0},
    "sweep-jobs": {"task": "audits.tasks.jobs_sweep", "schedule": 15.0},
    "sweep-webhooks": {"task": "core.tasks.webhooks_sweep", "schedule": 15.0},
}

# Opens /metrics to whoever sends it as a bearer token.
METRICS_TOKEN = env.secret("METRICS_TOKEN")

_log_level = env.choice("LOG_LEVEL", "WARNING", ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"])
_log_format = env.choice("LOG_FORMAT", "line", ["line", "json"])
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "core.logs.LineFormatter"}, "json": {"()": "core.logs.JsonFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": _log_format}},
    "root": {"handlers": ["stderr"], "level": _log_level},
    "loggers": {
        # Answers of 4xx are the visitor's affair; who was refused what, core.access says.
        "django.request": {"level": "ERROR"},
        # At DEBUG it writes every query with its values.
        "django.db.backends": {"level": "INFO"},
    },
}
