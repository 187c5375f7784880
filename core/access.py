"""Who may do what."""

from core.errors import Problem, Refused
from core.models import Author, Membership, Role


def role_of(author: Author) -> Role | None:
    """The role of the person behind an author, or None for one who is no member (or has left)."""
    membership = Membership.objects.filter(project=author.project_id, user=author.user_id).first()
    return None if membership is None else Role(membership.role)


def require_role(author: Author, *allowed: Role) -> Role:
    role = role_of(author)
    if role not in allowed:
        names = ", ".join(role.value for role in allowed)
        raise Refused(Problem(f"{author} may not do this", value=role.value if role else "no role", allowed=names))
    return role
