// SPDX-License-Identifier: MIT
/** Feeds the board from the browser's microphone, recordings, camera and pictures. */
import { HEIGHT, RATE, WIDTH } from "./feeds.mjs";

const PIECE = 1024;
const PICTURE_MS = 100;

/** Translate an error of getUserMedia(). */
function mediaError(error, device) {
    const known = {
        NotAllowedError: `This page may not use the ${device}: you or the browser denied access.`,
        NotFoundError: `No ${device} was found.`,
    };
    return new Error(known[error.name] ?? `The ${device} does not start: ${error.message}`);
}

async function stream(constraints, device) {
    if (!navigator.mediaDevices) {
        throw new Error(`This browser gives the page no ${device}; open it over https or at localhost.`);
    }
    try {
        return await navigator.mediaDevices.getUserMedia(constraints);
    } catch (error) {
        throw mediaError(error, device);
    }
}

/**
 * Start to use a stream; its tracks are stopped by the returned function, or if begin() fails.
 *
 * @param {(atEnd: (act: () => void) => void) => Promise<void>} begin  atEnd() adds a clean-up step
 * @returns {Promise<() => void>} stops it
 */
async function use(media, device, begin) {
    const acts = [() => media.getTracks().forEach((track) => track.stop())];
    const end = () => acts.forEach((act) => act());
    try {
        await begin((act) => acts.push(act));
    } catch (error) {
        end();
        throw mediaError(error, device);
    }
    return end;
}

/** The context keeps its default rate: Firefox does not connect a microphone to one of another rate. */
export async function listen(feeds) {
    const plain = { channelCount: 1, echoCancellation: false, noiseSuppression: false, autoGainControl: false };
    const sound = await stream({ audio: plain }, "microphone");
    return use(sound, "microphone", async (atEnd) => {
        const context = new AudioContext();
        atEnd(() => context.close());
        await context.audioWorklet.addModule(new URL("sound_worklet.js", import.meta.url));
        const listener = new AudioWorkletNode(context, "listener", { numberOfOutputs: 0 });
        listener.port.addEventListener("message", ({ data }) => feeds.giveSound(data));
        listener.port.start();
        context.createMediaStreamSource(sound).connect(listener);
        await context.resume();
    });
}

/** Give a recording, any sound file that the browser can read, as fast as the board takes it. */
export async function play(feeds, file, stopped) {
    const context = new OfflineAudioContext(1, 1, RATE);
    const bytes = await file.arrayBuffer();
    let decoded;
    try {
        decoded = await context.decodeAudioData(bytes);
    } catch {
        throw new Error("The browser cannot read this sound file.");
    }
    const samples = Int16Array.from(decoded.getChannelData(0), (value) =>
        Math.max(-32768, Math.min(32767, Math.round(value * 32768))));
    for (let at = 0; at < samples.length && !stopped(); ) {
        const piece = samples.subarray(at, at + PIECE);
        if (feeds.giveSound(piece)) {
            at += piece.length;
        } else {
            await new Promise((done) => setTimeout(done, 10));
        }
    }
}

/** Draw a picture or a video's frame, scaled to fit and centred, and give it to the board. */
function give(feeds, canvas, source, width, height) {
    const scale = Math.min(WIDTH / width, HEIGHT / height);
    const [w, h] = [width * scale, height * scale];
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.fillStyle = "black";
    context.fillRect(0, 0, WIDTH, HEIGHT);
    context.drawImage(source, (WIDTH - w) / 2, (HEIGHT - h) / 2, w, h);
    feeds.givePicture(context.getImageData(0, 0, WIDTH, HEIGHT).data);
}

/** @returns {() => void} stops it */
export async function watch(feeds, canvas) {
    const film = await stream({ video: { width: { ideal: WIDTH }, height: { ideal: HEIGHT } } }, "camera");
    return use(film, "camera", async (atEnd) => {
        const video = document.createElement("video");
        video.muted = true;
        video.srcObject = film;
        await video.play();
        const timer = setInterval(() => give(feeds, canvas, video, video.videoWidth, video.videoHeight), PICTURE_MS);
        atEnd(() => clearInterval(timer));
    });
}

export async function show(feeds, canvas, file) {
    let picture;
    try {
        picture = await createImageBitmap(file);
    } catch {
        throw new Error("The browser cannot read this picture.");
    }
    give(feeds, canvas, picture, picture.width, picture.height);
}
