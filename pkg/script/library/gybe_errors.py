"""Errors that scripts of packages raise. The text of the error is the reason that users see."""


class SolException(Exception):
    """An error with a title and a detail."""

    title = None
    message = "an error without a text"

    def __init__(self, sol_title=None, sol_detail=None, sol_type=None, sol_instance=None, **values):
        self.title = sol_title or self.title
        self.detail = sol_detail or self.message % values
        super().__init__(self.detail)


class SolHttpError400(SolException):
    status = 400
    title = "Bad Request"


class SolHttpError404(SolException):
    status = 404
    title = "Not Found"


class SolHttpError409(SolException):
    status = 409
    title = "Conflict"


class SolHttpError422(SolException):
    status = 422
    title = "Unprocessable Entity"


class TackerException(Exception):
    """An error of tacker.common.exceptions: a text with values."""

    message = "an error without a text"

    def __init__(self, message=None, **values):
        super().__init__((message or self.message) % values if values else message or self.message)


class MgmtDriverOtherError(TackerException):
    message = "%(error_message)s"


class NotAuthorized(TackerException):
    message = "Not authorized."
