class CustomLogger:
    def __init__(self, message_logging=True, **kwargs):
        self.message_logging = message_logging

    async def async_pre_call_hook(self, user_api_key_dict, cache, data, call_type):
        pass

    async def async_log_success_event(self, kwargs, response_obj, start_time, end_time):
        pass

    async def async_log_failure_event(self, kwargs, response_obj, start_time, end_time):
        pass

    async def async_post_call_failure_hook(
        self, request_data, original_exception, user_api_key_dict, traceback_str=None
    ):
        pass

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict, response, request_data
    ):
        async for chunk in response:
            yield chunk
