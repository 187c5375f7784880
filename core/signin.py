from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import get_token
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache


@method_decorator(never_cache, name="dispatch")
class SignIn(LoginView):
    """The sign-in page, and the same form inside a page whose session has ended (asked for by htmx)."""

    template_name = "core/login.html"
    redirect_authenticated_user = True
    form_class = AuthenticationForm

    def get_template_names(self) -> list[str]:
        return ["core/_login_form.html"] if self._inside_a_page(self.request) else [self.template_name]

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        response = super().dispatch(request, *args, **kwargs)
        get_token(request)  # the open page may have lost this alone: it comes back with any answer
        # A page that is open goes on where it is: it needs no other page, only to know that it may.
        return HttpResponse(status=204) if self._inside_a_page(request) and response.status_code == 302 else response

    @staticmethod
    def _inside_a_page(request: HttpRequest) -> bool:
        return bool(request.headers.get("HX-Request"))
