"""Infrastructure, from the environment alone. What operators tune are settings rows."""

from pathlib import Path

from switchboard import database, env, logs

BASE_DIR = Path(__file__).resolve().parent.parent
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")

DEBUG = env.flag("DEBUG")
SECRET_KEY = env.secret("SECRET_KEY")
ALLOWED_HOSTS = env.hosts("ALLOWED_HOSTS", default=LOCAL_HOSTS if DEBUG else ())
CSRF_TRUSTED_ORIGINS = env.origins("CSRF_TRUSTED_ORIGINS")

DATABASES = {
    "default": database.settings(
        env.postgres("DATABASE_URL"),
        pooler=env.choice("DATABASE_POOLER", ["", "transaction"], default=""),
        pool_size=env.integer("DATABASE_POOL_SIZE", default=0, minimum=0, maximum=1000),
    )
}
REDIS_URL = env.redis_url("REDIS_URL")
# Without a token /metrics is closed.
METRICS_TOKEN = env.token("SWITCHBOARD_METRICS_TOKEN")

BEHIND_TLS_PROXY = env.flag("BEHIND_TLS_PROXY")
SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = BEHIND_TLS_PROXY
# Only behind such a proxy is this header its word and not the client's.
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_TLS_PROXY else None
SECURE_HSTS_SECONDS = (
    env.integer("HSTS_SECONDS", default=3600, minimum=0, maximum=63_072_000)
    if BEHIND_TLS_PROXY
    else 0
)
# Subdomains and browsers' preload lists are not this application's to decide about.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

INSTALLED_APPS = [
    # Before the admin, some of whose templates it replaces.
    "todos",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_linear_migrations",
    "django_prometheus",
    "ninja",  # the style sheet and the script of the page of the API
    "switchboard",
    "settings_app",
]
MIDDLEWARE = [
    "switchboard.requests.trace_user",
    "django_prometheus.middleware.PrometheusBeforeMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "switchboard.staticfiles.StaticFilesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_prometheus.middleware.PrometheusAfterMiddleware",
]
ROOT_URLCONF = "switchboard.urls"
ASGI_APPLICATION = "switchboard.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
# Without a manifest: a page must not fail because collectstatic has not run yet on this host.
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}

LOGGING = logs.config(
    env.choice("LOG_LEVEL", ["DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"], default="INFO"),
    env.choice("LOG_FORMAT", logs.FORMATS, default="text"),
)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
TIME_ZONE = "UTC"
