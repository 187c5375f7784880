# One image, three commands. The web server is the default; the others are run from the same image:
#   worker:   celery -A config worker -B -s /var/lib/tertium/beat-schedule --pool threads --concurrency 2 --loglevel INFO
#             (one worker with -B, which keeps the clock; further ones without it; with the health check off)
#   upgrade:  python manage.py migrate    (once per release, before the new web server starts)
# Needs at run time: SECRET_KEY or SECRET_KEY_FILE, ALLOWED_HOSTS, BEHIND_TLS_PROXY, DATABASE_URL, REDIS_URL (see .env.example), and a
# buffering proxy in front: the server's workers take one request at a time.

# The tag is pinned to the minor version; pin its digest too in the registry that you build from.
FROM python:3.11-slim-bookworm AS build
WORKDIR /build
COPY requirements.txt .
# Wheels only: nothing is compiled, so that neither stage needs a compiler.
RUN python -m venv --without-pip /opt/venv && \
    pip --python /opt/venv/bin/python install --no-cache-dir --require-hashes --only-binary :all: -r requirements.txt

FROM python:3.11-slim-bookworm
RUN groupadd --gid 10001 tertium && \
    useradd --uid 10001 --gid tertium --no-create-home --home-dir /var/lib/tertium --shell /usr/sbin/nologin tertium && \
    install --directory --owner tertium --group tertium --mode 0700 /var/lib/tertium
COPY --from=build /opt/venv /opt/venv
WORKDIR /srv/tertium
# What enters is the allow-list in .dockerignore. Owned by root: the process cannot change its own code.
COPY . .
RUN /opt/venv/bin/python -m compileall -q .
ENV PATH=/opt/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    WEB_CONCURRENCY=3 \
    TERTIUM_PRODUCTION=True \
    TERTIUM_VAR=/var/lib/tertium
# By number: an orchestrator that forbids root can check it.
USER 10001:10001
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 CMD ["python", "bin/healthcheck"]
# WEB_CONCURRENCY workers. Their heartbeats are kept in memory: on a slow disk a healthy worker would look hung.
CMD ["gunicorn", "config.wsgi:application", "--bind", "0.0.0.0:8000", "--timeout", "30", \
     "--graceful-timeout", "20", "--max-requests", "5000", "--max-requests-jitter", "500", \
     "--worker-tmp-dir", "/dev/shm", "--access-logfile", "-", "--no-control-socket"]
