"""Settings, all from the environment. The defaults are the embedded set-up: one machine, one folder."""

from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from config import env

BASE_DIR = Path(__file__).resolve().parent.parent
VAR_DIR = Path(env.text("TERTIUM_VAR", str(BASE_DIR / "var"))).resolve()

DEBUG = env.flag("DEBUG", False)
_secret_key = env.secret("SECRET_KEY")
PRODUCTION = env.flag("TERTIUM_PRODUCTION", False)
if PRODUCTION and not _secret_key:
    raise ImproperlyConfigured("SECRET_KEY is not set; in production it, or SECRET_KEY_FILE, is required")
SECRET_KEY = _secret_key or "embedded-default-for-one-machine-only"
ALLOWED_HOSTS = env.words("ALLOWED_HOSTS", "localhost,127.0.0.1")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "core",
    "judges",
    "adjudication",
    "audits",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.common.CommonMiddleware",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": False,
        "OPTIONS": {"builtins": ["audits.templatetags.figures"]},
    }
]

DATABASES = {"default": env.database(env.secret("DATABASE_URL"), VAR_DIR / "tertium.sqlite3")}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LANGUAGE_CODE = "en"
USE_TZ = True
TIME_ZONE = "UTC"

# Event name -> task name. The lower storeys write events and never import the tasks that follow.
EVENT_TASKS = {"adjudication.item-settled": "audits.tasks.look_due"}

CELERY_BROKER_URL = env.secret("REDIS_URL") or f"redis+socket://{VAR_DIR}/valkey.sock?virtual_host=0"
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# The outbox is the database: a request never waits for a broker, and never fails with it.
CELERY_TASK_PUBLISH_RETRY = False
CELERY_BROKER_TRANSPORT_OPTIONS = {
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
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name} {message}", "style": "{"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": env.text("LOG_LEVEL", "WARNING")},
}
