/*
 * The one piece of global state a program needs: a signal handler can reach nothing else.
 */
#include "programs/common/stop.h"

#include <signal.h>

static cbx_stop_flag stop_flag;

static void on_signal(int number)
{
    stop_flag = 1;
    signal(number, SIG_DFL);
}

const cbx_stop_flag *stop_catch(void)
{
    struct sigaction action = { .sa_handler = on_signal };

    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    return &stop_flag;
}
