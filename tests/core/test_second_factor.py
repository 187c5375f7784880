"""A second factor: set up on a page, asked for at every sign-in, and no easier to guess than a password."""

import time
from binascii import unhexlify
from typing import Any

import pytest
from axes.models import AccessAttempt
from django.core.management import call_command
from django.test import Client
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticToken
from django_otp.plugins.otp_totp.models import TOTPDevice

from core.errors import InputError, Refused
from core.models import Author, Role
from core.services import account_remove, password_set, second_factor_set
from tests import factories

pytestmark = [pytest.mark.database, pytest.mark.django_db, pytest.mark.usefixtures("quick_passwords")]

NAME, PASSWORD = "alpha-lea", "correct horse battery staple"
KEY = "3132333435363738393031323334353637383930"
WRONG = "Please enter a correct username and password."


@pytest.fixture
def lead(db: None) -> Author:
    author = factories.make_person(factories.make_project("alpha"), "lea", Role.LEAD)
    password_set(author=author, password=PASSWORD)
    return author


def code_of(key: str, steps: int = 0) -> str:
    """What an app with this key shows now, or so many half minutes later."""
    app = TOTP(unhexlify(key), drift=steps)
    app.time = time.time()
    return f"{app.token():06d}"


def sign_in(**more: str) -> Any:
    return Client().post("/login", {"username": NAME, "password": PASSWORD, **more})


def test_code_of_the_app_is_that_of_rfc_6238() -> None:
    """Appendix B of RFC 6238: at 59 s, with SHA-1 and this key, 94287082; an app shows the last six digits."""
    app = TOTP(unhexlify(KEY))
    app.time = 59
    assert f"{app.token():06d}" == "287082"


def test_second_factor_is_set_up_on_the_page_and_then_asked_for(lead: Author) -> None:
    assert "code" not in Client().get("/login").context["form"].fields
    browser = Client()
    browser.force_login(lead.user)
    page = browser.get("/account/second-factor")
    key = browser.session["second-factor-key"]
    assert "<svg" in page.content.decode()
    wrong = browser.post("/account/second-factor", {"password": PASSWORD, "code": "000000"})
    assert (wrong.status_code, TOTPDevice.objects.count()) == (422, 0)
    other = browser.post("/account/second-factor", {"password": "another", "code": code_of(key)})
    assert ("the password is wrong" in other.content.decode(), TOTPDevice.objects.count()) == (True, 0)
    done = browser.post("/account/second-factor", {"password": PASSWORD, "code": code_of(key)})
    recovery = done.context["codes"]
    assert (len(recovery), len(set(recovery))) == (10, 10)
    assert "10 recovery codes left" in browser.get("/account").content.decode()

    assert "code" in Client().get("/login").context["form"].fields
    assert WRONG in sign_in().content.decode()
    assert WRONG in sign_in(code=code_of(key)).content.decode()  # it was used a moment ago
    assert sign_in(code=code_of(key, 1)).status_code == 302
    assert sign_in(code=recovery[0]).status_code == 302
    assert WRONG in sign_in(code=recovery[0]).content.decode()
    assert "9 recovery codes left" in browser.get("/account").content.decode()


def test_wrong_code_reads_like_a_wrong_password_and_counts_like_one(lead: Author) -> None:
    second_factor_set(user=lead.user, key=KEY, code=code_of(KEY))
    answers = [sign_in(code="000000") for _ in range(9)] + [sign_in(password="wrong", code=code_of(KEY, 1))]
    assert {answer.status_code for answer in answers[:9]} == {200}
    assert AccessAttempt.objects.get(username=NAME).failures_since_start == 10
    assert "000000" not in AccessAttempt.objects.get(username=NAME).post_data
    assert sign_in(code=code_of(KEY, 1)).status_code == 429


def test_somebody_without_a_second_factor_signs_in_as_before(lead: Author) -> None:
    second_factor_set(user=lead.user, key=KEY, code=code_of(KEY))
    other = factories.make_person(lead.project, "bo", Role.REVIEWER)
    password_set(author=other, password=PASSWORD)
    data = {"username": "alpha-bo", "password": PASSWORD, "code": ""}
    assert Client().post("/login", data).status_code == 302


def test_removing_asks_for_password_and_code(lead: Author) -> None:
    second_factor_set(user=lead.user, key=KEY, code=code_of(KEY))
    browser = Client()
    browser.force_login(lead.user)
    assert browser.get("/account/second-factor")["Location"] == "/account"
    for password, code in [(PASSWORD, "000000"), ("wrong", code_of(KEY, 1))]:
        answer = browser.post("/account/second-factor/remove", {"password": password, "code": code})
        assert (answer.status_code, TOTPDevice.objects.count()) == (422, 1)
    data = {"password": PASSWORD, "code": code_of(KEY, 1)}
    assert browser.post("/account/second-factor/remove", data)["Location"] == "/account"
    assert (TOTPDevice.objects.count(), StaticToken.objects.count()) == (0, 0)
    assert sign_in().status_code == 302


def test_account_has_one_second_factor_and_takes_it_along_when_it_goes(lead: Author) -> None:
    second_factor_set(user=lead.user, key=KEY, code=code_of(KEY))
    with pytest.raises(Refused, match="has a second factor already"):
        second_factor_set(user=lead.user, key=KEY, code=code_of(KEY, 1))
    account_remove(user=lead.user)
    assert (TOTPDevice.objects.count(), StaticToken.objects.count()) == (0, 0)


def test_operator_removes_the_factor_of_somebody_who_lost_it(lead: Author, capsys: pytest.CaptureFixture[str]) -> None:
    second_factor_set(user=lead.user, key=KEY, code=code_of(KEY))
    call_command("remove_second_factor", NAME)
    assert capsys.readouterr().out == f"{NAME} signs in with the password alone from now on\n"
    assert sign_in().status_code == 302
    with pytest.raises(SystemExit) as ended:
        call_command("remove_second_factor", NAME)
    assert ended.value.code == 1


def test_code_that_does_not_fit_sets_up_nothing(lead: Author) -> None:
    with pytest.raises(InputError, match="not the code that the app shows now"):
        second_factor_set(user=lead.user, key=KEY, code="000000")
    assert TOTPDevice.objects.count() == 0


def test_changed_password_ends_the_sessions_elsewhere_and_keeps_this_one(lead: Author) -> None:
    here, elsewhere = Client(), Client()
    for browser in (here, elsewhere):
        browser.post("/login", {"username": NAME, "password": PASSWORD})
    new = "a rather different horse"
    weak = {"old_password": PASSWORD, "new_password1": "short", "new_password2": "short"}
    assert "at least 12 characters" in here.post("/account/password", weak).content.decode()
    data = {"old_password": PASSWORD, "new_password1": new, "new_password2": new}
    assert here.post("/account/password", data)["Location"] == "/account"
    assert (here.get("/account").status_code, elsewhere.get("/account").status_code) == (200, 302)
