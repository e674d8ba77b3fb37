"""What LiteLLM's hooks raise. FastAPI is a dependency of LiteLLM's proxy."""


class HTTPException(Exception):
    def __init__(self, status_code, detail=None, headers=None):
        super().__init__(detail)
        self.status_code = status_code
        self.detail = detail
        self.headers = headers
