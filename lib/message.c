/* SPDX-License-Identifier: BSD-3-Clause */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "thread.h"

lsc_status lsc_fail(lsc_status status, const char *format, ...) {
  char *message = lsc_thread_message();
  if (!message) return status;
  char text[LSC_MESSAGE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  snprintf(message, LSC_MESSAGE_SIZE, "%s", text);
  return status;
}

const char *lsc_message(void) {
  const struct lsc_thread_state *self = lsc_self;
  return self->message ? self->message : "";
}
