/* Two threads write one variable without a lock: the run under ThreadSanitizer must refuse it, or
 * it proves nothing. */
#include <pthread.h>
#include <stddef.h>

static int counter;

static void *count(void *unused)
{
    (void)unused;
    for (int i = 0; i < 10000; i++) counter++;
    return NULL;
}

int main(void)
{
    pthread_t a, b;
    if (pthread_create(&a, NULL, count, NULL) || pthread_create(&b, NULL, count, NULL)) return 0;
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    return 0;
}
